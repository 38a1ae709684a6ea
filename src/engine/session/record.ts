import type { ModelResponse } from '../../core/codec.ts'
import { PlimsollError } from '../../core/errors.ts'
import type { Item } from '../../core/item.ts'
import type { UsageSeen } from '../../core/records.ts'
import type { Usage } from '../../core/usage.ts'
import { looksTruncated } from '../../meter/index.ts'
import type { Branch } from './branch/branch.ts'
import type { OpenTurn } from './branch/open-turns.ts'
import { callRecord, settleCall, tellCall } from '../spending/calls.ts'
import type { EngineDeps } from '../deps.ts'
import { sealedTokensIn } from './sealed-tokens.ts'
import { teach } from './learn.ts'
import { appendTo } from './restore.ts'

export interface RecordRequest {
  /** The id that `prepare` gave; ties the answer to its request, so that parallel calls do not mix. */
  readonly turn: string
  readonly format?: string
  /** The provider's response: a parsed body, or what a stream reducer put together. */
  readonly response?: unknown
  /** The same as a codec has read it already. */
  readonly answer?: ModelResponse
  readonly usage?: Usage
  /** The usage is of a prompt that the server had cut: it is billed, and says nothing about the prompt that was sent. */
  readonly cut?: boolean
  /** The provider refused or never answered: the turn is closed, and nothing is said about its usage. */
  readonly refused?: boolean
  /**
   * `soon`: nobody waits for the disk. What is recorded survives a kill, and a power cut a moment later; decisions, which are always
   * flushed before their request leaves, take along whatever was recorded before them. @default 'flushed'
   */
  readonly durable?: 'flushed' | 'soon'
}

export interface RecordedTurn {
  readonly usage?: Usage
  readonly costUsd?: number
  /** The server seems to have dropped the front of the prompt without a word: the window that it acts by. */
  readonly truncatedTo?: number
}

/** normalise usage → calibrate → cost → budgets → log. Missing usage is not zero usage. */
export async function record(deps: EngineDeps, branch: Branch, request: RecordRequest): Promise<RecordedTurn> {
  const turn = branch.turns.close(request.turn)
  if (turn === undefined) {
    throw new PlimsollError('not-found', `There is no open turn ${JSON.stringify(request.turn)} in this session.`, {
      advice: 'Each turn can be recorded once, with the id that prepare returned.',
    })
  }
  const unwritten = turn.unwritten?.records() ?? []
  const { durable = 'flushed' } = request
  if (request.refused === true) {
    if (turn.reservation !== undefined) await deps.budgets?.release(turn.reservation)
    if (unwritten.length > 0) await appendTo(deps, branch, unwritten, { durable })
    turn.unwritten?.written()
    return {}
  }
  const answer = request.answer ?? answerOf(deps, request.format ?? turn.format, request.response)
  const usage = request.usage ?? answer?.usage
  const hidden = answer && sealedTokensIn({ ...answer, ...(usage !== undefined && { usage }) }, countFor(deps, turn))
  const truncatedTo = request.cut === true ? undefined : truncationOf(branch, turn, usage)
  if (truncatedTo !== undefined) warnOfTruncation(deps, branch, turn, usage!)
  const at = deps.clock.now()
  const entry: UsageSeen = {
    ...callRecord(deps, branch, { model: turn.model, purpose: 'turn', usage, durationMs: at - turn.startedAt }),
    turn: turn.id,
    estimated: turn.estimated,
    // A number for a part of the prompt measures nothing that the next request could build on.
    ...(truncatedTo === undefined && request.cut !== true && { measured: turn.measured }),
    limit: turn.limit,
    ...(turn.endpoint !== undefined && { endpoint: turn.endpoint }),
    ...(turn.epoch !== undefined && { epoch: turn.epoch }),
    ...(hidden !== undefined && { hidden }),
  }
  await settleCall(deps, turn.reservation, entry)
  tellCall(deps, branch, entry)
  if (deps.calibration !== undefined) {
    teach(deps.calibration, branch.log.measured, entry)
    deps.keepCalibration?.()
  }
  // One write for the request and its answer: what is acknowledged here is durable as a whole.
  await appendTo(deps, branch, [...unwritten, entry], { durable })
  turn.unwritten?.written()
  const { costUsd } = entry
  return {
    ...(usage !== undefined && { usage }),
    ...(costUsd !== undefined && { costUsd }),
    ...(truncatedTo !== undefined && { truncatedTo }),
  }
}

/** Shorter prompts than this are no server's window. */
const LEAST_WINDOW = 1_024

/**
 * The window of a server that cut the prompt. One that reports what its cache did not hold says a small number too: that one falls
 * below what was reported before, a window does not.
 */
function truncationOf({ log }: Branch, { count }: OpenTurn, usage: Usage | undefined): number | undefined {
  if (usage === undefined || !looksTruncated({ count }, usage)) return undefined
  if (usage.input < LEAST_WINDOW || usage.input < (log.measured?.prompt ?? 0)) return undefined
  return usage.input
}

function warnOfTruncation(deps: EngineDeps, branch: Branch, turn: OpenTurn, { input }: Usage): void {
  const { tenant, session, agent } = branch
  const message =
    `${turn.model} reports a prompt of ${input.toLocaleString('en')} tokens; at least ${Math.floor(turn.count.low).toLocaleString('en')} were ` +
    'sent. The server seems to drop the front of the prompt, instructions first. Raise its context length, or name the real window.'
  deps.emit({
    type: 'warning',
    topic: 'silent-truncation',
    message,
    at: deps.clock.now(),
    tenant,
    session,
    agent,
    turn: turn.id,
  })
}

const answerOf = (deps: EngineDeps, format: string, response: unknown): ModelResponse | undefined =>
  response === undefined ? undefined : deps.codecs.get(format)?.readResponse(response)

const countFor =
  ({ meter }: EngineDeps, { model }: OpenTurn) =>
  (item: Item): number =>
    meter.countItem(model, item).tokens

import type { ModelResponse } from '../core/codec.ts'
import { PlimsollError } from '../core/errors.ts'
import { costOfUsage } from '../core/price.ts'
import { RECORD_VERSION, type UsageSeen } from '../core/records.ts'
import type { Usage } from '../core/usage.ts'
import type { Branch, OpenTurn } from './branch.ts'
import type { EngineDeps } from './deps.ts'
import { teach } from './learn.ts'
import { appendTo } from './restore.ts'

export interface RecordRequest {
  /** The id that `prepare` gave; ties the answer to its request, so that parallel calls do not mix. */
  readonly turn: string
  readonly format?: string
  /** The provider's response: a parsed body, or what a stream reducer put together. */
  readonly response?: unknown
  readonly usage?: Usage
  /** The provider refused or never answered: the turn is closed, and nothing is said about its usage. */
  readonly refused?: boolean
}

export interface RecordedTurn {
  readonly usage?: Usage
  readonly costUsd?: number
}

/** normalise usage → calibrate → cost → budgets → log. Missing usage is not zero usage. */
export async function record(deps: EngineDeps, branch: Branch, request: RecordRequest): Promise<RecordedTurn> {
  const turn = branch.turns.get(request.turn)
  if (turn === undefined) {
    throw new PlimsollError('not-found', `There is no open turn ${JSON.stringify(request.turn)} in this session.`, {
      advice: 'Each turn can be recorded once, with the id that prepare returned.',
    })
  }
  branch.turns.delete(turn.id)
  const unwritten = turn.unwritten?.records() ?? []
  if (request.refused === true) {
    if (turn.reservation !== undefined) deps.budgets?.release(turn.reservation)
    if (unwritten.length > 0) await appendTo(deps, branch, unwritten)
    turn.unwritten?.written()
    return {}
  }
  const usage = request.usage ?? usageOf(deps, request.format ?? turn.format, request.response)
  const price = deps.catalogue.resolve(turn.model).info.price
  const costUsd = usage === undefined || price === undefined ? undefined : costOfUsage(usage, price)
  settle(deps, turn, usage, costUsd)
  const context = {
    at: deps.clock.now(),
    tenant: branch.tenant,
    session: branch.session,
    agent: branch.agent,
    turn: turn.id,
  }
  if (usage === undefined) deps.emit({ type: 'usage-missing', ...context })
  else {
    deps.emit({ type: 'usage-recorded', usage, purpose: 'turn', ...context, ...(costUsd !== undefined && { costUsd }) })
  }
  const entry: UsageSeen = {
    v: RECORD_VERSION,
    at: context.at,
    agent: branch.agent,
    type: 'usage',
    turn: turn.id,
    model: turn.model,
    estimated: turn.estimated,
    measured: turn.measured,
    limit: turn.limit,
    purpose: 'turn',
    ...(turn.endpoint !== undefined && { endpoint: turn.endpoint }),
    ...(usage !== undefined && { usage }),
    ...(costUsd !== undefined && { costUsd }),
    ...(turn.epoch !== undefined && { epoch: turn.epoch }),
  }
  if (deps.calibration !== undefined) {
    teach(deps.calibration, branch.last, entry)
    deps.keepCalibration?.()
  }
  // One write for the request and its answer: what is acknowledged here is durable as a whole.
  await appendTo(deps, branch, [...unwritten, entry])
  turn.unwritten?.written()
  return { ...(usage !== undefined && { usage }), ...(costUsd !== undefined && { costUsd }) }
}

function settle(deps: EngineDeps, turn: OpenTurn, usage: Usage | undefined, costUsd: number | undefined): void {
  if (turn.reservation === undefined) return
  deps.budgets?.settle(turn.reservation, usage && { tokens: usage.input + usage.output, usd: costUsd ?? 0 })
}

function usageOf(deps: EngineDeps, format: string, response: unknown): Usage | undefined {
  if (response === undefined) return undefined
  const read: ModelResponse | undefined = deps.codecs.get(format)?.readResponse(response)
  return read?.usage
}

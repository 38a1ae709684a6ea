import type { ModelResponse } from '../core/codec.ts'
import { PlimsollError } from '../core/errors.ts'
import { costOfUsage } from '../core/price.ts'
import { RECORD_VERSION } from '../core/records.ts'
import type { Usage } from '../core/usage.ts'
import type { Branch } from './branch.ts'
import type { EngineDeps } from './deps.ts'

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

/** normalise usage → cost → log. Missing usage is not zero usage. */
export async function record(deps: EngineDeps, branch: Branch, request: RecordRequest): Promise<RecordedTurn> {
  const turn = branch.turns.get(request.turn)
  if (turn === undefined) {
    throw new PlimsollError('not-found', `There is no open turn ${JSON.stringify(request.turn)} in this session.`, {
      advice: 'Each turn can be recorded once, with the id that prepare returned.',
    })
  }
  branch.turns.delete(turn.id)
  if (request.refused === true) return {}
  const usage = request.usage ?? usageOf(deps, request.format ?? turn.format, request.response)
  const price = deps.catalogue.resolve(turn.model).info.price
  const costUsd = usage === undefined || price === undefined ? undefined : costOfUsage(usage, price)
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
    branch.last = {
      input: usage.input,
      output: usage.output,
      estimated: turn.estimated,
      ...(turn.epoch !== undefined && { epoch: turn.epoch }),
    }
  }
  await deps.sessions.append(branch.tenant, branch.session, [
    {
      v: RECORD_VERSION,
      at: context.at,
      type: 'usage',
      turn: turn.id,
      model: turn.model,
      estimated: turn.estimated,
      purpose: 'turn',
      ...(turn.endpoint !== undefined && { endpoint: turn.endpoint }),
      ...(usage !== undefined && { usage }),
      ...(costUsd !== undefined && { costUsd }),
      ...(turn.epoch !== undefined && { epoch: turn.epoch }),
    },
  ])
  return { ...(usage !== undefined && { usage }), ...(costUsd !== undefined && { costUsd }) }
}

function usageOf(deps: EngineDeps, format: string, response: unknown): Usage | undefined {
  if (response === undefined) return undefined
  const codec = deps.codecs.get(format)
  const read: ModelResponse | undefined = codec?.readResponse(response)
  return read?.usage
}

import type { EventOf } from '../../core/events.ts'
import { costOfUsage } from '../../core/price.ts'
import { RECORD_VERSION, type UsageSeen } from '../../core/records.ts'
import type { Usage } from '../../core/usage.ts'
import type { Branch } from '../session/branch/branch.ts'
import type { EngineDeps } from '../deps.ts'

export interface FinishedCall {
  readonly model: string
  readonly purpose: UsageSeen['purpose']
  readonly usage: Usage | undefined
  readonly durationMs: number
}

/** A call as the log keeps it: priced by the model that answered, the summarizer's by its own. */
export function callRecord(deps: EngineDeps, branch: Branch, call: FinishedCall): UsageSeen {
  const { model, purpose, usage, durationMs } = call
  const { price } = deps.catalogue.resolve(model).info
  return {
    v: RECORD_VERSION,
    at: deps.clock.now(),
    agent: branch.agent,
    type: 'usage',
    turn: purpose,
    model,
    estimated: 0,
    purpose,
    durationMs: Math.max(0, durationMs),
    ...(branch.key !== undefined && { key: branch.key }),
    ...(usage !== undefined && { usage }),
    ...(usage !== undefined && price !== undefined && { costUsd: costOfUsage(usage, price) }),
  }
}

/** What was held becomes what it cost. Without usage the whole of it counts: the provider may have billed it all. */
export async function settleCall(deps: EngineDeps, reservation: string | undefined, call: UsageSeen): Promise<void> {
  if (reservation === undefined) return
  const { usage, costUsd = 0 } = call
  await deps.budgets?.settle(reservation, usage && { tokens: usage.input + usage.output, usd: costUsd })
}

/** A call without an answer: the provider refused it, or it was not sent. Turns that nobody meant to send are closed without a word. */
export function tellRefused(
  { emit, clock }: EngineDeps,
  { tenant, session, agent, key }: Branch,
  call: Pick<EventOf<'call-refused'>, 'by' | 'model' | 'turn' | 'status' | 'code' | 'durationMs'>,
): void {
  const about = { at: clock.now(), tenant, session, agent, ...(key !== undefined && { key }) }
  emit({ type: 'call-refused', purpose: 'turn', ...about, ...call })
}

/** The event that every counter, header and dashboard adds up. */
export function tellCall(deps: EngineDeps, branch: Branch, call: UsageSeen): void {
  const { model, purpose, usage, costUsd, durationMs, key, at, turn } = call
  const about = {
    at,
    tenant: branch.tenant,
    session: branch.session,
    agent: branch.agent,
    ...(purpose === 'turn' && { turn }),
    model,
    purpose,
    ...(durationMs !== undefined && { durationMs }),
    ...(key !== undefined && { key }),
  }
  if (usage === undefined) deps.emit({ type: 'usage-missing', ...about })
  else deps.emit({ type: 'usage-recorded', usage, ...about, ...(costUsd !== undefined && { costUsd }) })
}

import type { LogRecord } from '../../core/records.ts'
import { type CallPlan, boundOf } from '../../meter/index.ts'
import type { Summarizer, SummaryAnswer } from '../../ports/summarizer.ts'
import { callRecord, settleCall, tellCall } from './calls.ts'
import type { PrepareContext } from '../prepare/context.ts'
import { payerOf } from './budget-gate.ts'
import { appendTo } from '../session/restore.ts'

export interface SideCall {
  /** Makes the call, settles what it cost and writes it down. */
  made(ask: () => Promise<SummaryAnswer>): Promise<SummaryAnswer>
}

/** A call of ours spends like the agent's own: reserved, priced by the summarizer's model, logged. Undefined: it may not be made. */
export async function payForCall(
  context: PrepareContext,
  { name, model = name }: Pick<Summarizer, 'name' | 'model'>,
  plan: CallPlan,
  /** Takes what the log is to hold. @default appends it at once */
  log?: (record: LogRecord) => Promise<void>,
): Promise<SideCall | undefined> {
  const { deps, branch } = context
  const facts = deps.meter.factsOf(model)
  const answer = await deps.budgets?.reserve({
    ...payerOf(deps, branch),
    bound: boundOf(plan, facts),
    ...(facts.price !== undefined && { price: facts.price }),
    side: true,
  })
  if (answer?.verdict === 'halt') return undefined
  const reservation = answer?.reservation
  return {
    async made(ask) {
      const startedAt = deps.clock.now()
      try {
        const given = await ask()
        const durationMs = deps.clock.now() - startedAt
        const call = callRecord(deps, branch, { model, purpose: 'summary', usage: given.usage, durationMs })
        await settleCall(deps, reservation, call)
        tellCall(deps, branch, call)
        await (log === undefined ? appendTo(deps, branch, [call]) : log(call))
        return given
      } catch (error) {
        // Settled already when only the log failed; then this changes nothing. What ran out of time may have been billed.
        if (reservation !== undefined) {
          if (isTimeout(error)) await deps.budgets?.settle(reservation, undefined)
          else await deps.budgets?.release(reservation)
        }
        throw error
      }
    },
  }
}

const isTimeout = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError')

import type { CacheSeen } from '../../core/cache.ts'
import type { EventOf } from '../../core/events.ts'
import { costOfUsage, type PriceModel } from '../../core/price.ts'
import { RECORD_VERSION, type UsageSeen } from '../../core/records.ts'
import type { Usage } from '../../core/usage.ts'
import { type Branch, spenderOf } from '../session/branch.ts'
import type { EngineDeps } from '../deps.ts'
import { type CallPlan, boundOf, type LedgerTotals, type Spent } from '../../meter/index.ts'
import type { Summarizer, SummaryAnswer } from '../../ports/summarizer.ts'
import type { PrepareContext, Permission, View } from '../prepare/context.ts'
import { appendTo } from '../session/log.ts'
import type { Verdict } from '../../core/target.ts'
import { withNewHead } from '../epoch/bound-thinking.ts'
import type { BookRequest } from './budget-book.ts'

interface FinishedCall {
  readonly model: string
  readonly purpose: UsageSeen['purpose']
  readonly usage: Usage | undefined
  readonly durationMs: number
}

/** A call as the log keeps it: priced by the model that answered, the summarizer's by its own. The caller may add to it. */
export function callRecord(
  deps: EngineDeps,
  { agent, key }: Pick<Branch, 'agent' | 'key'>,
  call: FinishedCall,
): UsageSeen {
  const { model, purpose, usage, durationMs } = call
  const { price } = deps.catalogue.resolve(model).info
  const costUsd = usage && price && costOfUsage(usage, price)
  return {
    v: RECORD_VERSION,
    at: deps.clock.now(),
    agent,
    type: 'usage',
    turn: purpose,
    model,
    estimated: 0,
    purpose,
    durationMs: Math.max(0, durationMs),
    key,
    usage,
    costUsd,
    // A call of ours would not have been made.
    savedUsd: purpose === 'turn' || costUsd === undefined ? undefined : -costUsd,
  }
}

/** Replaces a reservation by the cost. Without usage the whole reservation counts: the provider may have billed it. */
export async function settleCall(deps: EngineDeps, reservation: string | undefined, call: UsageSeen): Promise<void> {
  if (reservation === undefined) return
  const { usage, costUsd = 0 } = call
  await deps.budgets?.settle(reservation, usage && { tokens: usage.input + usage.output, usd: costUsd })
}

/** Sends the event for a call that the provider refused or that was not sent. Not for turns that were never meant to be sent. */
export function tellRefused(
  { emit, clock }: EngineDeps,
  { tenant, session, agent, key }: Branch,
  call: Pick<EventOf<'call-refused'>, 'by' | 'model' | 'turn' | 'status' | 'code' | 'durationMs'>,
): void {
  const about = { at: clock.now(), tenant, session, agent, key }
  emit({ type: 'call-refused', purpose: 'turn', ...about, ...call })
}

/** Sends the usage event that counters, headers and the dashboard add up. */
export function tellCall(deps: EngineDeps, branch: Branch, call: UsageSeen): void {
  const { model, purpose, usage, costUsd, durationMs, key, at, cache, savedUsd, removed } = call
  const { tenant, session, agent } = branch
  const turn = purpose === 'turn' ? call.turn : undefined
  const about = { at, tenant, session, agent, model, purpose, turn, durationMs, key }
  // The log holds a little of what changed; events hold no content.
  const { miss, ...seen } = cache ?? {}
  deps.emit(
    usage === undefined
      ? { type: 'usage-missing', ...about }
      : { type: 'usage-recorded', usage, costUsd, savedUsd, removed, cache: cache && (seen as CacheSeen), ...about },
  )
  if (cache === undefined || miss === undefined) return
  const { before: _, after: __, ...why } = miss
  deps.emit({ type: 'cache-missed', at, tenant, session, agent, turn, model, ageSeconds: cache.ageSeconds, ...why })
}

const FREE: PriceModel = { input: 0, output: 0 }

interface SideCall {
  /** Makes the call, settles its cost and logs it. */
  made(ask: () => Promise<SummaryAnswer>): Promise<SummaryAnswer>
}

/** Reserves the budget for a summary call, which is priced and logged like the agent's calls. Undefined when over budget. */
export async function payForCall(
  context: PrepareContext,
  { name, model: named }: Pick<Summarizer, 'name' | 'model'>,
  plan: CallPlan,
): Promise<SideCall | undefined> {
  const { deps, branch, inBackground } = context
  const model = named ?? name
  const known = deps.meter.factsOf(model)
  // A function of the program names no model: what it costs is the program's own affair.
  const facts = named === undefined ? { ...known, price: known.price ?? FREE } : known
  const answer = await deps.budgets?.reserve({
    ...payerOf(deps, branch),
    bound: boundOf(plan, facts),
    price: facts.price,
    side: true,
  })
  if (answer?.verdict === 'halt') return undefined
  const reservation = answer?.reservation
  // Who pays for the branch's next request may be another by the time of the answer.
  const { agent, key } = branch
  return {
    async made(ask) {
      const startedAt = deps.clock.now()
      try {
        const given = await ask()
        const durationMs = deps.clock.now() - startedAt
        const call = callRecord(deps, { agent, key }, { model, purpose: 'summary', usage: given.usage, durationMs })
        await settleCall(deps, reservation, call)
        tellCall(deps, branch, call)
        if (inBackground === undefined) await appendTo(deps, branch, [call])
        else inBackground.records.push(call)
        return given
      } catch (error) {
        // No effect when the call is settled already and only the log failed. A call that timed out may have been billed.
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

const FINAL_INSTRUCTION =
  'The budget of this session is used up. Answer now with what you have: say what is done, what was found and what is left. Call no tools.'

/**
 * Reserves the most that the call can cost. Over budget it allows one closing answer, after that nothing. `decided`: the verdict if the call can be
 * paid for.
 */
export async function passBudgetGate(context: PrepareContext, view: View, decided?: Verdict): Promise<Permission> {
  const { deps, branch, target, limit, conversation } = context
  const { high } = view.load.count
  const numbers = { target, projected: high, limit: limit.tokens, margin: limit.tokens - high }
  const granted: Verdict = decided ?? { kind: 'proceed', reason: 'fits', ...numbers }
  if (deps.budgets === undefined) return { verdict: granted, view }
  const facts = deps.meter.factsOf(target.model)
  const maxOutputTokens = conversation.settings.maxOutputTokens ?? target.maxOutputTokens
  const answer = await deps.budgets.reserve({
    ...payerOf(deps, branch),
    bound: boundOf({ inputHigh: high, maxOutputTokens }, facts),
    price: facts.price,
  })
  if (answer.verdict === 'proceed') return { verdict: granted, reservation: answer.reservation, view }
  const verdict: Verdict = {
    kind: answer.verdict,
    reason: answer.reason,
    ...numbers,
    retryable: answer.verdict === 'halt' ? answer.retryable : undefined,
  }
  if (answer.verdict === 'halt') return { verdict, view }
  // The closing turn: no tools, the instruction, and no more output than is left to pay for.
  const changes = { keepTools: [], addInstruction: FINAL_INSTRUCTION, maxOutputTokens: answer.maxOutputTokens }
  return { verdict, reservation: answer.reservation, view: withNewHead(context, view, changes) }
}

/** The payer of a call, its budgets, and what was spent before they were set. */
function payerOf(
  { clock, policyBudgets }: EngineDeps,
  branch: Branch,
): Pick<BookRequest, 'spender' | 'at' | 'also' | 'before'> {
  return {
    spender: spenderOf(branch),
    at: clock.now(),
    also: policyBudgets,
    before: {
      session: spentIn(branch.log.calls.totals()),
      agent: spentIn(branch.log.calls.totals({ agent: branch.agent })),
    },
  }
}

const spentIn = ({ usage, costUsd }: LedgerTotals): Spent => ({ tokens: usage.input + usage.output, usd: costUsd })

import type { Verdict } from '../../core/target.ts'
import type { EngineDeps } from '../deps.ts'
import { spenderOf, type Branch } from '../session/branch.ts'
import { withNewHead } from '../epoch/bound-thinking.ts'
import type { BookRequest } from './budget-book.ts'
import { boundOf, type LedgerTotals, type Spent } from '../../meter/index.ts'
import type { Permission, PrepareContext, View } from '../prepare/context.ts'

/** Tools that a closing turn may still use. */
const FINAL_TOOLS: readonly string[] = []

const FINAL_INSTRUCTION =
  'The budget of this session is used up. Answer now with what you have: say what is done, what was found and what is left. Call no tools.'

/**
 * Reserves the most that the call can cost; over budget, once a closing answer, then nothing. `decided` is the verdict that
 * stands if it can be paid for.
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
  return { verdict, reservation: answer.reservation, view: closing(context, view, answer.maxOutputTokens) }
}

/** The closing turn: no tools, the instruction, and no more output than is left to pay for. */
function closing(context: PrepareContext, view: View, maxOutputTokens: number): View {
  const changes = { keepTools: FINAL_TOOLS, addInstruction: FINAL_INSTRUCTION, maxOutputTokens }
  const { conversation, headers } = withNewHead(context, view, changes)
  const { text } = context.codec.encode(conversation)
  return {
    ...view,
    conversation,
    headers,
    text,
    splices: undefined,
    load: { ...view.load, bytes: Buffer.byteLength(text) },
  }
}

/** Who pays for a call of this branch, under which budgets, and what was spent before they began to count. */
export function payerOf(
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

import { changeEnvelope } from '../core/edits.ts'
import type { Verdict } from '../core/target.ts'
import { boundOf } from '../meter/index.ts'
import type { PrepareContext, View } from './context.ts'

/** The decision about a request that fits: may it be paid for? */
export interface Permission {
  readonly verdict: Verdict
  readonly reservation?: string
  /** The view as it leaves: restricted for a closing answer. */
  readonly view: View
}

/** Tools that a closing turn may still use. */
const FINAL_TOOLS: readonly string[] = []

const FINAL_INSTRUCTION =
  'The budget of this session is used up. Answer now with what you have: say what is done, what was found and what is left. Call no tools.'

/** Reserves the most that the call can cost; over budget, once a closing answer, then nothing. */
export function permit(context: PrepareContext, view: View): Permission {
  const { deps, branch, target, limit, conversation } = context
  const { high } = view.load.count
  const numbers = { target, projected: high, limit: limit.tokens, margin: limit.tokens - high }
  if (deps.budgets === undefined) return { verdict: { kind: 'proceed', reason: 'fits', ...numbers }, view }
  const facts = deps.meter.factsOf(target.model)
  const maxOutputTokens = conversation.settings.maxOutputTokens ?? target.maxOutputTokens
  const answer = deps.budgets.reserve({
    spender: { tenant: branch.tenant, session: branch.session, agent: branch.agent },
    bound: boundOf({ inputHigh: high, ...(maxOutputTokens !== undefined && { maxOutputTokens }) }, facts),
    ...(facts.price !== undefined && { price: facts.price }),
    at: deps.clock.now(),
  })
  if (answer.verdict === 'proceed') {
    return { verdict: { kind: 'proceed', reason: 'fits', ...numbers }, reservation: answer.reservation, view }
  }
  const verdict: Verdict = { kind: answer.verdict, reason: answer.reason, ...numbers }
  if (answer.verdict === 'halt') return { verdict, view }
  return { verdict, reservation: answer.reservation, view: closing(context, view, answer.maxOutputTokens) }
}

/** The closing turn: no tools, the instruction, and no more output than is left to pay for. */
function closing({ codec }: PrepareContext, view: View, maxOutputTokens: number): View {
  const conversation = changeEnvelope(view.conversation, {
    keepTools: FINAL_TOOLS,
    addInstruction: FINAL_INSTRUCTION,
    maxOutputTokens,
  })
  return { ...view, conversation, text: codec.encode(conversation).text }
}

import type { Conversation, RequestSettings } from '../../core/conversation.ts'
import { changeEnvelope } from '../../core/edits.ts'
import { isPlimsollError } from '../../core/errors.ts'
import type { LowerOutputRule, Policy } from '../../core/policy.ts'
import type { Limit } from '../../core/target.ts'
import { MOST_OF_WINDOW } from '../../meter/index.ts'
import type { PrepareContext, View } from './context.ts'

type LimitAt = (maxOutputTokens?: number) => Limit

/** The least that the policy lets a request's own cap be lowered to; undefined when it may not be touched. */
function outputFloor({ lowerOutput: rule }: Policy, settings: RequestSettings): number | undefined {
  const { maxOutputTokens: asked, thinkingBudget = 0 } = settings
  if (rule === undefined || asked === undefined) return undefined
  // The vendor refuses a cap that the thinking alone would use up.
  const floor = Math.max(leastOf(rule, asked), thinkingBudget === 0 ? 0 : thinkingBudget + leastOf(rule, 0))
  return floor < asked ? floor : undefined
}

const leastOf = ({ minTokens, minShare }: LowerOutputRule, asked: number): number =>
  Math.max(minTokens, Math.ceil(asked * minShare))

/** A cap that leaves no room for any prompt is lowered before anything is measured; in a small window further than the policy's floor. */
export function openLimit(
  policy: Policy,
  conversation: Conversation,
  limitAt: LimitAt,
): { readonly limit: Limit; readonly conversation: Conversation } {
  const floor = outputFloor(policy, conversation.settings)
  try {
    return { limit: limitAt(), conversation }
  } catch (error) {
    if (policy.lowerOutput === undefined || !isPlimsollError(error, 'limit-not-positive')) throw error
    const share = Math.floor(Number(error.fields['window']) * MOST_OF_WINDOW)
    for (const cap of [floor ?? share, share]) {
      const limit = limitWith(limitAt, cap)
      if (limit !== undefined && cap > (conversation.settings.thinkingBudget ?? 0))
        return { limit, conversation: changeEnvelope(conversation, { maxOutputTokens: cap }) }
    }
    throw error
  }
}

function limitWith(limitAt: LimitAt, cap: number): Limit | undefined {
  try {
    return limitAt(cap)
  } catch {
    return undefined
  }
}

/**
 * When only the request's own output cap makes it too large, the cap gives way before history does: by what is missing, never below
 * the policy's floor. Undefined when that is not enough.
 */
export function lowerOutput(context: PrepareContext, view: View, limitAt: LimitAt): PrepareContext | undefined {
  const { deps, limit, conversation } = context
  const asked = conversation.changes?.maxOutputTokens ?? conversation.settings.maxOutputTokens
  const floor = outputFloor(deps.policy, conversation.settings)
  const missing = Math.ceil(view.load.count.high) - limit.tokens
  if (floor === undefined || asked === undefined || missing <= 0 || view.load.bytes > limit.bytes) return undefined
  const lowered = asked - missing
  if (lowered < floor) return undefined
  const roomier = limitAt(lowered)
  if (view.load.count.high > roomier.tokens) return undefined
  return { ...context, limit: roomier, conversation: changeEnvelope(conversation, { maxOutputTokens: lowered }) }
}

import type { Edit } from '../../../core/edits.ts'
import { highWater } from '../../epoch/thresholds.ts'
import { turnsUntil } from '../../session/status.ts'
import type { PrepareContext, View } from '../context.ts'
import { textTokensOf } from '../counting.ts'

/** What a message of its own costs beside its text, at most. */
const FRAME_TOKENS = 16

/** A last message of ours, and the tokens that it adds. */
export interface Notice {
  readonly edit: Edit
  readonly tokens: number
}

/**
 * Tells the model how full its window is, in a last message of ours. It stands behind everything that will be sent again, so the
 * cached prefix stays as it is, and the next request carries a new one instead. Left out where it would do harm: where it does not
 * fit, where the wire wants something else at this place, where the provider would keep it (a chained response), and on models that
 * bind their thinking to what stood before it.
 */
export function contextNotice(context: PrepareContext, view: View): Notice | undefined {
  const { deps, target, limit, conversation } = context
  if (deps.contextNotice !== true || view.conversation.items.at(-1)?.role === 'assistant') return undefined
  const { previousResponseId, conversationId } = conversation.settings
  if (previousResponseId !== undefined || conversationId !== undefined) return undefined
  if (deps.catalogue.resolve(target.model).info.bindsThinking) return undefined
  const text = noticeText(context, view)
  const tokens = Math.ceil(textTokensOf(context)(text)) + FRAME_TOKENS
  if (view.load.count.high + tokens > limit.tokens) return undefined
  return { edit: { op: 'insert', id: 'context-notice', role: 'user', text, reason: 'context notice' }, tokens }
}

function noticeText({ deps, branch, limit }: PrepareContext, { load }: View): string {
  const used = Math.ceil(load.count.high)
  const percent = Math.min(100, Math.round((100 * used) / limit.tokens))
  const left = turnsUntil(highWater(deps.policy, limit, branch.log.cacheIsWarm) - used, branch.requests.growth)
  const turns = left === undefined ? '' : ` At this pace about ${left} more calls fit before older parts are compacted.`
  return `[Context: ${percent} % full, ${used.toLocaleString('en')} of ${limit.tokens.toLocaleString('en')} tokens.${turns} This is a notice, not a request.]`
}

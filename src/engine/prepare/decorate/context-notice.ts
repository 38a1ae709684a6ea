import { applyEdits } from '../../../core/edits.ts'
import { textTokensOf, type PrepareContext, type View } from '../context.ts'
import { turnsUntil } from '../../session/status.ts'
import { highWater } from '../../epoch/thresholds.ts'

/** What a message of its own costs beside its text, at most. */
const FRAME_TOKENS = 16

/** A view with the notice as its last message, and how many messages of ours stand at its end. */
export interface Noticed {
  readonly view: View
  readonly suffixMessages: number
}

/**
 * Tells the model how full its window is, in a last message of ours. It stands behind everything that will be sent again, so the
 * cached prefix stays as it is, and the next request carries a new one instead. Left out where it would do harm: where it does not
 * fit, where the wire wants something else at this place, where the provider would keep it (a chained response), and on models that
 * bind their thinking to what stood before it.
 */
export function withContextNotice(context: PrepareContext, view: View): Noticed {
  const without: Noticed = { view, suffixMessages: 0 }
  const { deps, codec, target, limit, conversation } = context
  if (deps.contextNotice !== true || view.conversation.items.at(-1)?.role === 'assistant') return without
  const { previousResponseId, conversationId } = conversation.settings
  if (previousResponseId !== undefined || conversationId !== undefined) return without
  if (deps.catalogue.resolve(target.model).info.bindsThinking) return without
  const text = noticeText(context, view)
  const tokens = Math.ceil(textTokensOf(context)(text)) + FRAME_TOKENS
  const { count } = view.load
  if (count.high + tokens > limit.tokens) return without
  const noticed = applyEdits(view.conversation, [
    { op: 'insert', id: 'context-notice', role: 'user', text, reason: 'context notice' },
  ])
  const outgoing = codec.encode(noticed).text
  const bytes = Buffer.byteLength(outgoing)
  if (bytes > limit.bytes || breaksRules(context, view.text, outgoing)) return without
  const load = {
    count: { ...count, tokens: count.tokens + tokens, low: count.low, high: count.high + tokens },
    bytes,
  }
  // The conversation stays without it: nothing is archived, measured or continued from a notice.
  return { view: { ...view, text: outgoing, load }, suffixMessages: 1 }
}

function noticeText({ deps, branch, limit }: PrepareContext, { load }: View): string {
  const used = Math.ceil(load.count.high)
  const percent = Math.min(100, Math.round((100 * used) / limit.tokens))
  const left = turnsUntil(highWater(deps.policy, limit, branch.log.cacheIsWarm) - used, branch.requests.growth)
  const turns = left === undefined ? '' : ` At this pace about ${left} more calls fit before older parts are condensed.`
  return `[Context: ${percent} % full, ${used.toLocaleString('en')} of ${limit.tokens.toLocaleString('en')} tokens.${turns} This is a notice, not a request.]`
}

function breaksRules({ codec, target }: PrepareContext, before: string, after: string): boolean {
  const options = { model: target.model }
  const broken = codec.check(JSON.parse(after), options)
  if (broken.length === 0) return false
  const known = new Set(codec.check(JSON.parse(before), options).map(({ rule }) => rule))
  return broken.some(({ rule }) => !known.has(rule))
}

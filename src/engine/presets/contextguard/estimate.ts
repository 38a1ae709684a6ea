import type { Conversation } from '../../../core/conversation.ts'
import { type Count, exactly } from '../../../core/count.ts'
import type { Item, ToolDeclaration } from '../../../core/item.ts'
import type { EstimatorRule } from '../../../core/policy.ts'
import type { Anchor, Meter } from '../../../meter/index.ts'
import type { DesignMeter } from '../design.ts'
import { byteLength } from '../../intake/text.ts'
import { asText, declaredTool, fieldsOf } from '../shared.ts'

/** Bounds of the learned factor. */
const CLAMP = [1, 5] as const
const clamped = (factor: number): number => Math.min(CLAMP[1], Math.max(CLAMP[0], factor))

/** Go prints a response as `map[result:…]`. */
const RESPONSE_WRAP = 12
/** Lengths are divided field by field, so that fields of three bytes are nothing. */
const quarter = (bytes: number): number => Math.floor(bytes / 4)

/** Bytes / 4 of every field: texts, names, each argument's key and value, inline data, system text, tool declarations. */
export const contextguardHeuristic = ({ head, items, tools }: Pick<Conversation, 'head' | 'items' | 'tools'>): number =>
  [...head, ...items].reduce((sum, item) => sum + itemTokens(item), 0) +
  tools.reduce((sum, tool) => sum + toolTokens(tool), 0)

/** Bytes behind base64 text, without decoding it. */
const decodedLength = (base64: string): number => Math.floor((base64.length * 3) / 4)

function itemTokens(item: Item): number {
  const media = (item.media ?? []).reduce(
    (sum, { mime = '', data = '' }) => sum + quarter(mime.length) + quarter(decodedLength(data)),
    0,
  )
  if (item.kind === 'call') {
    const fields = Object.entries(fieldsOf(item.text))
    const values = fields.reduce(
      (sum, [key, value]) => sum + quarter(byteLength(key)) + quarter(byteLength(asText(value))),
      0,
    )
    return quarter(byteLength(item.toolName ?? '')) + values + media
  }
  if (item.kind === 'result') {
    return quarter(byteLength(item.toolName ?? '')) + quarter(byteLength(item.text) + RESPONSE_WRAP) + media
  }
  return quarter(byteLength(item.text)) + media
}

function toolTokens(tool: ToolDeclaration): number {
  const { name, description, schema } = declaredTool(tool.name, tool.text)
  return quarter(byteLength(name)) + quarter(byteLength(description)) + quarter(byteLength(schema))
}

/**
 * The heuristic in real tokens: times clamp(real / last, 1, 5), and never below what was last measured. `realTokens`: what the provider reported for
 * the last call; `lastHeuristic`: what the heuristic had said about it.
 */
export function contextguardCalibrated(
  heuristic: number,
  { realTokens = 0, lastHeuristic = 0 }: { readonly realTokens?: number; readonly lastHeuristic?: number },
  { defaultFactor = 2.5 }: EstimatorRule = {},
): number {
  const factor = realTokens > 0 && lastHeuristic > 0 ? clamped(realTokens / lastHeuristic) : defaultFactor
  return Math.max(realTokens, Math.floor(heuristic * factor))
}

/** Bytes / 4 times what the provider's numbers showed, and never below them. Cautious enough to decide what may leave, too. */
export function contextguardMeter(base: Meter, rule: EstimatorRule): DesignMeter {
  const { defaultFactor = 2.5 } = rule
  const raw = (conversation: Pick<Conversation, 'head' | 'items' | 'tools'>): Count =>
    exactly(contextguardHeuristic(conversation), 'estimate')
  const factor = (last: Anchor | undefined): number =>
    last === undefined || last.prompt <= 0 || last.rawTokens <= 0
      ? defaultFactor
      : clamped(last.prompt / last.rawTokens)
  return {
    ...base,
    countText: (_, text) => exactly(Math.floor(Buffer.byteLength(text) / 4), 'estimate'),
    countItem: (_, item) => raw({ head: [], items: [item], tools: [] }),
    measure(target, conversation, bytes) {
      const measured = base.measure(target, conversation, bytes)
      const count = raw(conversation)
      return { ...measured, raw: count, count }
    },
    design: {
      factor,
      load({ gauge, conversation, measurement, last, anchor }) {
        const tokens = contextguardCalibrated(
          measurement.raw.tokens,
          // After a rewrite the ratio still holds; the old prompt's size does not.
          anchor === undefined ? {} : { realTokens: anchor.prompt, lastHeuristic: anchor.rawTokens },
          { defaultFactor: anchor === undefined ? factor(last) : defaultFactor },
        )
        // What may leave is held by our own bound as well: a provider's count of an easy prompt says little about a dense one.
        const bound = base.measure(gauge, conversation, measurement.bytes).count.high
        const count = exactly(tokens, 'calibrated')
        return { ...measurement, count: last === undefined ? count : { ...count, high: Math.max(tokens, bound) } }
      },
      // Until a provider has counted anything the factor is a guess.
      certain: ({ gauge, conversation, measurement, last }) =>
        last === undefined ? base.measure(gauge, conversation, measurement.bytes) : undefined,
    },
  }
}

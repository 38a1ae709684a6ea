import type { Conversation } from '../../../core/conversation.ts'
import type { Item } from '../../../core/item.ts'
import { asText, declaredTool, decodedLength, fieldsOf, type LoadEstimator, utf8Length } from '../messages.ts'

/** What the design keeps in the session between two calls. */
export interface ContextguardState {
  /** Prompt tokens that the provider reported for the last call. */
  readonly realTokens?: number
  /** What the heuristic had said about that call. */
  readonly lastHeuristic?: number
}

export interface ContextguardOptions {
  /** Used until something real is known. @default 2.5 */
  readonly defaultFactor?: number
  /** @default [1, 5] */
  readonly clamp?: readonly [low: number, high: number]
}

/** Go prints a response as `map[result:…]`. */
const RESPONSE_WRAP = 12
/** Lengths are divided field by field, so that fields of three bytes are nothing. */
const quarter = (bytes: number): number => Math.floor(bytes / 4)

/** Bytes / 4 of every field: texts, names, each argument's key and value, inline data, system text, tool declarations. */
export const contextguardHeuristic: LoadEstimator = {
  name: 'contextguard',
  estimate: (conversation) =>
    [...conversation.head, ...conversation.items].reduce((sum, item) => sum + itemTokens(item), 0) +
    toolTokens(conversation),
}

function itemTokens(item: Item): number {
  const media = (item.media ?? []).reduce(
    (sum, { mime = '', data = '' }) => sum + quarter(mime.length) + quarter(decodedLength(data)),
    0,
  )
  if (item.kind === 'call') {
    const fields = Object.entries(fieldsOf(item.text))
    const values = fields.reduce(
      (sum, [key, value]) => sum + quarter(utf8Length(key)) + quarter(utf8Length(asText(value))),
      0,
    )
    return quarter(utf8Length(item.toolName ?? '')) + values + media
  }
  if (item.kind === 'result') {
    return quarter(utf8Length(item.toolName ?? '')) + quarter(utf8Length(item.text) + RESPONSE_WRAP) + media
  }
  return quarter(utf8Length(item.text)) + media
}

function toolTokens({ tools }: Conversation): number {
  return tools.reduce((sum, tool) => {
    const { name, description, schema } = declaredTool(tool.name, tool.text)
    return sum + quarter(utf8Length(name)) + quarter(utf8Length(description)) + quarter(utf8Length(schema))
  }, 0)
}

/** The heuristic in real tokens: times clamp(real / last, 1, 5), and never below what was last measured. */
export function contextguardCalibrated(
  heuristic: number,
  state: ContextguardState,
  options: ContextguardOptions = {},
): number {
  const { defaultFactor = 2.5, clamp = [1, 5] } = options
  const { realTokens = 0, lastHeuristic = 0 } = state
  const factor =
    realTokens > 0 && lastHeuristic > 0
      ? Math.min(clamp[1], Math.max(clamp[0], realTokens / lastHeuristic))
      : defaultFactor
  return Math.max(realTokens, Math.floor(heuristic * factor))
}

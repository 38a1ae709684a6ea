import type { Conversation, RequestSettings } from './conversation.ts'
import type { Item } from './item.ts'

/** The source of a token count, strongest first. */
export type CountSource = 'exact' | 'provider' | 'calibrated' | 'estimate' | 'unknown'

export interface Count {
  /** The likely count, between `low` and `high`. */
  readonly tokens: number
  readonly low: number
  /** Upper bound of the visible content; decisions use it. */
  readonly high: number
  /**
   * Tokens that may come on top, from content whose size is not visible: a document by id, another provider's encrypted reasoning. `high` contains
   * its likely size; nothing is refused, removed or shortened because of `unsure`.
   */
  readonly unsure?: number
  readonly source: CountSource
}

const RANK: Record<CountSource, number> = { exact: 0, provider: 1, calibrated: 2, estimate: 3, unknown: 4 }

const weaker = (a: CountSource, b: CountSource): CountSource => (RANK[b] > RANK[a] ? b : a)

export const NO_TOKENS: Count = { tokens: 0, low: 0, high: 0, source: 'exact' }

export function exactly(tokens: number, source: CountSource = 'exact'): Count {
  return { tokens, low: tokens, high: tokens, source }
}

/**
 * Adds counts whose errors are independent: the half-widths combine in quadrature, since a sum of worst cases would throw
 * away a tenth of the window on a long history. The weakest source names the sum.
 */
export function sumCounts(counts: Iterable<Count>): Count {
  let tokens = 0
  let below = 0
  let above = 0
  let unsure = 0
  let source: CountSource = 'exact'
  for (const count of counts) {
    unsure += count.unsure ?? 0
    tokens += count.tokens
    below += (count.tokens - count.low) ** 2
    above += (count.high - count.tokens) ** 2
    source = weaker(source, count.source)
  }
  return countFrom(tokens, Math.max(0, tokens - Math.sqrt(below)), tokens + Math.sqrt(above), unsure, source)
}

/** A literal, since counts are made for every item of every request: spreading an optional member costs several times as much. */
export const countFrom = (tokens: number, low: number, high: number, unsure: number, source: CountSource): Count =>
  unsure > 0 ? { tokens, low, high, unsure, source } : { tokens, low, high, source }

/** The count of content whose size is not visible: the upper bound is the likely size, the rest is `unsure`. */
export const unknownCount = (tokens: number, low: number, most: number): Count =>
  countFrom(tokens, Math.min(low, tokens), tokens, most - tokens, 'unknown')

/** Scales a count by a learned factor; `spread` widens it by the factor's own relative uncertainty. */
export function scaleCount(count: Count, factor: number, spread = 0): Count {
  const tokens = count.tokens * factor
  return countFrom(
    tokens,
    Math.max(0, count.low * factor - tokens * spread),
    count.high * factor + tokens * spread,
    (count.unsure ?? 0) * factor,
    count.source === 'estimate' || count.source === 'exact' ? 'calibrated' : count.source,
  )
}

/**
 * Whether the request contains everything that the provider will count. Otherwise its count says how full the conversation is, and nothing about the
 * tokenizer.
 */
export const showsWholePrompt = ({ settings, items }: Pick<Conversation, 'settings' | 'items'>): boolean =>
  settings.unseen === undefined && !items.some(hidesContent)

/** A file by id or URL, or a result of a provider's tool: the body refers to it without containing it. */
export const hidesContent = ({ serverSide, media }: Pick<Item, 'serverSide' | 'media'>): boolean =>
  serverSide === true || media?.some(({ data }) => data === undefined) === true

/** The provider holds the history before this request; the body contains only what is new. */
export const isChained = ({ previousResponseId, conversationId }: RequestSettings): boolean =>
  previousResponseId !== undefined || conversationId !== undefined

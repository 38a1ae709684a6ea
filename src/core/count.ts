import type { Conversation, RequestSettings } from './conversation.ts'
import type { Item } from './item.ts'

/** Where a number of tokens came from, strongest first. */
export type CountSource = 'exact' | 'provider' | 'calibrated' | 'estimate' | 'unknown'

/** A number of tokens with the interval it lies in. */
export interface Count {
  /** The likely number; it lies in the interval. */
  readonly tokens: number
  readonly low: number
  /** Upper bound of all that can be seen; decisions use it. */
  readonly high: number
  /**
   * So much more it may be, because of content whose size nobody can see: a document by id, a foreign seal. It stands in `high` with its
   * likely size; nothing is refused, removed or shortened for the rest.
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

/** Counts are made for every item of every request: a literal takes a fraction of what spreading an optional member into one does. */
export const countFrom = (tokens: number, low: number, high: number, unsure: number, source: CountSource): Count =>
  unsure > 0 ? { tokens, low, high, unsure, source } : { tokens, low, high, source }

/** Content whose size nobody can see: a likely number, and an interval that decides nothing. */
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
 * Whether everything that the provider will count stands in the request. Only then does its count say something about the tokenizer; any
 * other tells how full this conversation is.
 */
export const showsWholePrompt = ({ settings, items }: Pick<Conversation, 'settings' | 'items'>): boolean =>
  settings.unseen === undefined && !items.some(hidesContent)

/** A file by id or URL, and what a tool of the provider's found: the body names them and does not hold them. */
export const hidesContent = ({ serverSide, media }: Pick<Item, 'serverSide' | 'media'>): boolean =>
  serverSide === true || media?.some(({ data }) => data === undefined) === true

/** The provider holds the history before this request: what stands in it is only what is new. */
export const isChained = ({ previousResponseId, conversationId }: RequestSettings): boolean =>
  previousResponseId !== undefined || conversationId !== undefined

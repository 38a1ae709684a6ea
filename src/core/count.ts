/** Where a number of tokens came from, strongest first. */
export type CountSource = 'exact' | 'provider' | 'calibrated' | 'estimate' | 'unknown'

/** A number of tokens with the interval it lies in. Decisions use `high`. */
export interface Count {
  readonly tokens: number
  readonly low: number
  readonly high: number
  readonly source: CountSource
}

const RANK: Record<CountSource, number> = { exact: 0, provider: 1, calibrated: 2, estimate: 3, unknown: 4 }

export const weaker = (a: CountSource, b: CountSource): CountSource => (RANK[b] > RANK[a] ? b : a)

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
  let source: CountSource = 'exact'
  for (const count of counts) {
    tokens += count.tokens
    below += (count.tokens - count.low) ** 2
    above += (count.high - count.tokens) ** 2
    source = weaker(source, count.source)
  }
  return { tokens, low: Math.max(0, tokens - Math.sqrt(below)), high: tokens + Math.sqrt(above), source }
}

/** Scales a count by a learned factor; `spread` widens it by the factor's own relative uncertainty. */
export function scaleCount(count: Count, factor: number, spread = 0): Count {
  const tokens = count.tokens * factor
  return {
    tokens,
    low: Math.max(0, count.low * factor - tokens * spread),
    high: count.high * factor + tokens * spread,
    source: count.source === 'estimate' || count.source === 'exact' ? 'calibrated' : count.source,
  }
}

import { type CacheLife, DEFAULT_LIFE, HOUR } from './cache.ts'
import type { Usage } from './usage.ts'

/** US dollars per million tokens. */
export interface Rates {
  readonly input: number
  readonly output: number
  readonly cacheRead?: number
  readonly cacheWrite?: number
  readonly cacheWriteLong?: number
}

/** How a model's calls are priced. Tiers apply to the whole call once its prompt is larger than `above`. */
export interface PriceModel extends Rates {
  readonly tiers?: readonly (Rates & { readonly above: number })[]
  /** Prefixes shorter than this are never cached. */
  readonly cacheMinimum?: number
  /** How long the provider keeps a prompt, where the request does not say. @default five minutes for certain */
  readonly cacheLife?: CacheLife
  /** `marks`: only up to a cache mark (Anthropic). `automatic`: longest common prefix (OpenAI, Gemini). */
  readonly caching?: 'marks' | 'automatic' | 'none'
}

const PER_MILLION = 1_000_000

export function costOfUsage(usage: Usage, price: PriceModel): number {
  const rates = ratesFor(usage.input, price)
  const writeLong = usage.cacheWriteLong ?? 0
  const writeShort = usage.cacheWrite - writeLong
  const plain = Math.max(0, usage.input - usage.cacheRead - usage.cacheWrite)
  const writeRate = rates.cacheWrite ?? rates.input
  return (
    (plain * rates.input +
      usage.cacheRead * (rates.cacheRead ?? rates.input) +
      writeShort * writeRate +
      writeLong * (rates.cacheWriteLong ?? writeRate) +
      usage.output * rates.output) /
    PER_MILLION
  )
}

export function ratesFor(promptTokens: number, price: PriceModel): Rates {
  let best: Rates = price
  let above = -1
  for (const tier of price.tiers ?? []) {
    if (promptTokens > tier.above && tier.above > above) {
      best = tier
      above = tier.above
    }
  }
  return best
}

/** A request in the price simulation: its tokens, and how many of them the previous request began with too. */
export interface PricedRequest {
  readonly tokens: number
  readonly commonPrefixTokens: number
  readonly outputTokens: number
  /** Seconds since the previous request. */
  readonly elapsedSeconds?: number
  /** How long its provider keeps it. @default the model's */
  readonly life?: CacheLife
}

/** Usage that a provider with this price model would report for a request, given what its cache holds from the previous one. */
export function simulateUsage(request: PricedRequest, price: PriceModel): Usage {
  const { tokens, commonPrefixTokens, outputTokens, elapsedSeconds = 0 } = request
  const life = request.life ?? price.cacheLife ?? DEFAULT_LIFE
  const minimum = price.cacheMinimum ?? 1024
  const caches = price.caching !== 'none' && price.cacheRead !== undefined
  const warm = elapsedSeconds <= life.least
  const cacheRead = caches && warm && commonPrefixTokens >= minimum ? commonPrefixTokens : 0
  const cacheWrite = caches && price.cacheWrite !== undefined && tokens >= minimum ? tokens - cacheRead : 0
  // Longer lives are paid for with writing only where there is a price for it.
  const isLong = price.cacheWriteLong !== undefined && life.least >= HOUR && cacheWrite > 0
  const cacheWriteLong = isLong ? cacheWrite : undefined
  return { input: tokens, cacheRead, cacheWrite, cacheWriteLong, output: outputTokens, reasoning: 0 }
}

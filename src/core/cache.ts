/**
 * How long a provider keeps the beginning of a prompt after its last use, in seconds: it surely has it until `least`, and surely not any more
 * after `most`. Between the two it depends on how busy the provider is.
 */
export interface CacheLife {
  readonly least: number
  readonly most: number
}

export const MINUTE = 60
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

/** Anthropic's two lifetimes, which a cache mark chooses. */
export const SHORT_LIFE: CacheLife = { least: 5 * MINUTE, most: 5 * MINUTE }
export const LONG_LIFE: CacheLife = { least: HOUR, most: HOUR }
/** Where nothing is known: most providers keep a prompt for five minutes, some for a day. */
export const DEFAULT_LIFE: CacheLife = { least: 5 * MINUTE, most: DAY }

/** What the next request of a conversation finds. */
export type CacheState = 'warm' | 'cold' | 'unknown'

export function cacheStateAt(ageSeconds: number, { least, most }: CacheLife): CacheState {
  if (ageSeconds <= least) return 'warm'
  return ageSeconds > most ? 'cold' : 'unknown'
}

/** What was expected of the provider's cache when a request left, and what came of it. */
export interface CacheSeen {
  readonly predicted: CacheState
  /** Since the call before, which wrote or read the cache last. */
  readonly ageSeconds: number
  readonly life: CacheLife
  /** Tokens that this request could have read: those that the call before left in the cache. */
  readonly expected: number
  /** Fewer were read. */
  readonly miss?: CacheMiss
}

/**
 * `ours`: a compaction, or a tool that we added. `client`: the client changed what it had sent. `expiry`: the cache had grown too old. `provider`:
 * nothing had changed and the cache was young. `too-short`: the prompt before was shorter than what is cached at all.
 */
export type MissCause = 'ours' | 'client' | 'expiry' | 'provider' | 'too-short' | 'unknown'

export interface CacheMiss {
  readonly cause: MissCause
  /** Tokens that were paid in full instead of being read. */
  readonly tokens: number
  /** What that cost more. */
  readonly usd?: number
  /** Where the request differs from the one before, in the wire's words. */
  readonly path?: string
  readonly before?: string
  readonly after?: string
  /** The compaction that changed it. */
  readonly epoch?: string
  /** What the provider itself says was the reason. */
  readonly provider?: string
}

/** What each cache of a process may hold, in bytes. Absent, each has a bound of its own. */
export interface CacheSizes {
  /** Bodies that were read before. */
  readonly bodies?: number
  /** Open sessions. */
  readonly sessions?: number
  /** Texts that were counted. */
  readonly texts?: number
  /** Hidden steps as items. */
  readonly steps?: number
}

/** The store keeps what it read last, and many small tables have a fixed number of entries. */
const FIXED_BYTES = 16 * 1024 * 1024
const LEAST_BYTES = 8 * 1024 * 1024
const SHARES = { bodies: 0.45, sessions: 0.25, texts: 0.2, steps: 0.1 } as const

/** Shares one bound among all of them, so that together they hold no more than that. */
export function cacheSizes(memoryBytes: number | undefined): CacheSizes {
  if (memoryBytes === undefined) return {}
  const left = Math.max(LEAST_BYTES, memoryBytes - FIXED_BYTES)
  const of = (share: number): number => Math.floor(left * share)
  return { bodies: of(SHARES.bodies), sessions: of(SHARES.sessions), texts: of(SHARES.texts), steps: of(SHARES.steps) }
}

import type { GatewaySession } from '../engine/session/session.ts'
import { BoundedMap } from '../util/bounded-map.ts'

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

const MOST_SESSIONS = 1_000
const SESSION_BYTES = 40_000_000
/** So many stay whatever their size: large sessions that take turns must not push each other out. */
const LARGE_SESSIONS = 16

/**
 * Sessions that this process need not read again. The one that was not used for longest goes first; when it comes back it is rebuilt from
 * its log and sends the same bytes.
 */
export function openSessions(memoryBytes: number | undefined) {
  const { sessions: room = SESSION_BYTES } = cacheSizes(memoryBytes)
  const largest = memoryBytes === undefined ? room / LARGE_SESSIONS : room
  const open = new BoundedMap<string, GatewaySession>(room)
  return {
    get: (key: string) => open.get(key),
    /** `bytes` is what it holds, roughly; where it is 0 the size that was said last stands. */
    keep(key: string, session: GatewaySession, bytes: number) {
      if (bytes > 0 || !open.has(key)) open.set(key, session, Math.min(Math.max(bytes, room / MOST_SESSIONS), largest))
    },
    clear: () => open.clear(),
  }
}

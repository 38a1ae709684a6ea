import type { GatewaySession } from '../engine/session/session.ts'
import { BoundedMap } from '../util/bounded-map.ts'

/** The size of each cache of a process, in bytes. An absent size means the cache's own default. */
export interface CacheSizes {
  /** Decoded request bodies. */
  readonly bodies?: number
  /** Open sessions. */
  readonly sessions?: number
  /** Token counts by text. */
  readonly texts?: number
  /** Decoded hidden steps. */
  readonly steps?: number
}

/** For the store's own cache and many small tables. */
const FIXED_BYTES = 16 * 1024 * 1024
const LEAST_BYTES = 8 * 1024 * 1024
const SHARES = { bodies: 0.45, sessions: 0.25, texts: 0.2, steps: 0.1 } as const

/** Divides one bound among all caches. */
export function cacheSizes(memoryBytes: number | undefined): CacheSizes {
  if (memoryBytes === undefined) return {}
  const left = Math.max(LEAST_BYTES, memoryBytes - FIXED_BYTES)
  const of = (share: number): number => Math.floor(left * share)
  return { bodies: of(SHARES.bodies), sessions: of(SHARES.sessions), texts: of(SHARES.texts), steps: of(SHARES.steps) }
}

const MOST_SESSIONS = 1_000
const SESSION_BYTES = 40_000_000
/** At least so many stay open whatever their size, so that large sessions do not evict each other on every request. */
const LARGE_SESSIONS = 16

/** Open sessions. The least recently used is closed first; on its next request it is rebuilt from its log and sends the same bytes. */
export function openSessions(memoryBytes: number | undefined) {
  const { sessions: room = SESSION_BYTES } = cacheSizes(memoryBytes)
  const largest = memoryBytes === undefined ? room / LARGE_SESSIONS : room
  const open = new BoundedMap<string, GatewaySession>(room)
  return {
    get: (key: string) => open.get(key),
    /** `bytes`: its approximate size; 0 keeps the last known size. */
    keep(key: string, session: GatewaySession, bytes: number) {
      if (bytes > 0 || !open.has(key)) open.set(key, session, Math.min(Math.max(bytes, room / MOST_SESSIONS), largest))
    },
    clear: () => open.clear(),
  }
}

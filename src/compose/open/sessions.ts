import type { GatewaySession, Session } from '../../engine/session/session.ts'
import { cacheSizes } from '../cache-sizes.ts'

export interface OpenSessions<S extends Session = GatewaySession> {
  get(key: string): S | undefined
  /** The newest in use. `bytes` is what it holds, roughly; where it is 0 the size that was said last stands. */
  keep(key: string, session: S, bytes: number): void
  clear(): void
}

export interface OpenSessionsOptions {
  /** @default 1,000 */
  readonly most?: number
  /** What all of them may hold, roughly. @default 40 million */
  readonly bytes?: number
  /** As many may hold four times as much: large sessions that take turns must not push each other out. @default 16 */
  readonly least?: number
}

/**
 * Sessions that this process need not read again. The one that was not used for longest goes first; when it comes back it is rebuilt from
 * its log and sends the same bytes.
 */
export function openSessions<S extends Session = GatewaySession>(options: OpenSessionsOptions = {}): OpenSessions<S> {
  const { most = 1_000, bytes: room = 40_000_000, least = 16 } = options
  const open = new Map<string, { readonly session: S; readonly bytes: number }>()
  let held = 0
  return {
    get: (key) => open.get(key)?.session,
    keep(key, session, bytes) {
      const before = open.get(key)
      const entry = { session, bytes: bytes === 0 ? (before?.bytes ?? 0) : bytes }
      held += entry.bytes - (before?.bytes ?? 0)
      open.delete(key)
      open.set(key, entry)
      for (const [oldest, { bytes: freed }] of open) {
        const fits = held <= (open.size <= least ? 4 * room : room)
        // Never the one that is about to be used.
        if ((open.size <= most && fits) || oldest === key) return
        open.delete(oldest)
        held -= freed
      }
    },
    clear() {
      open.clear()
      held = 0
    },
  }
}

/** The same within its share of one bound for all caches. */
export function openSessionsWithin(memoryBytes: number | undefined): OpenSessions {
  const { sessions } = cacheSizes(memoryBytes)
  return openSessions(sessions === undefined ? {} : { bytes: sessions, least: 0 })
}

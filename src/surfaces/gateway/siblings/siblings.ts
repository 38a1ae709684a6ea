import { BoundedMap } from '../../../lib/bounded-map.ts'
import type { SessionStore } from '../../../ports/session-store.ts'

/**
 * Processes on one port and one store, each with its own conversations: what a process remembers of them nobody else changes, so that they need
 * no locks in the store. A request that comes to another process is handed over.
 */
export interface Siblings {
  /** The number of this process. One that takes another's place has its number, and its conversations. */
  readonly self: number
  readonly count: number
  /** Where the process of that number takes what is handed over: a socket that only this user can open. */
  addressOf(process: number): string
}

export interface Owners {
  /** The number of the process that conversations kept under this key belong to; undefined when it is this one. */
  ownerOf(tenant: string, key: string): Promise<number | undefined>
}

/** The conversation belongs to another process. */
export interface Elsewhere {
  readonly kind: 'elsewhere'
  readonly process: number
}

const MOST_KNOWN = 50_000

/**
 * Conversations belong to the process that met them first: agents keep their connections, so most never come to another one. The store says
 * who that was. It is written once and never changes, so what is remembered of it is never out of date.
 */
export function storedOwners(
  store: Pick<SessionStore, 'setValue'>,
  { self, count }: Pick<Siblings, 'self' | 'count'>,
): Owners {
  const known = new BoundedMap<string, number>(MOST_KNOWN)
  return {
    async ownerOf(tenant, key) {
      const name = `${tenant}\n${key}`
      let owner = known.get(name)
      if (owner === undefined) {
        const first = await store.setValue(tenant, `owner:${key}`, String(self), true, { durable: 'soon' })
        // There may have been more of them when it was written.
        owner = Number(first) % count
        known.set(name, owner)
      }
      return owner === self ? undefined : owner
    },
  }
}

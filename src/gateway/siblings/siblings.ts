import { BoundedMap } from '../../util/bounded-map.ts'
import type { SessionStore } from '../../ports/session-store.ts'

/**
 * Processes on one port and one store, each with its own conversations: what a process remembers of them nobody else changes, so that they need
 * no locks in the store. A request that comes to another process is handed over. Agents of one session may belong to several processes: what
 * they share is in the store, where each append is whole.
 */
export interface Siblings {
  /** The number of this process. One that takes another's place has its number, and its conversations. */
  readonly self: number
  readonly count: number
  /** Where the process of that number takes what is handed over: a socket that only this user can open. */
  addressOf(worker: number): string
}

/** The conversation belongs to another process. */
export interface Elsewhere {
  readonly kind: 'elsewhere'
  readonly worker: number
}

export interface Owners<E = Elsewhere> {
  /**
   * Undefined where conversations of this group are this process's own: they are from now on, unless another one was first. A question
   * leaves no trace, so nobody owns them because of it.
   */
  elsewhere(tenant: string, group: number, isQuestion: boolean): Promise<E | undefined>
}

const MOST_KNOWN = 50_000

/**
 * Conversations belong to the process that met them first: agents keep their connections, so most never come to another one. The store says
 * who that was, for a bounded number of groups in a tenant and without any name. It is written once and never changes, so what is
 * remembered of it is never out of date.
 */
export function storedOwners(
  store: Pick<SessionStore, 'getValue' | 'setValue'>,
  { self, count }: Pick<Siblings, 'self' | 'count'>,
): Owners {
  const known = new BoundedMap<string, number>(MOST_KNOWN)
  return {
    async elsewhere(tenant, group, isQuestion) {
      const name = `${tenant}\n${group}`
      const key = `owner:${group}`
      let worker = known.get(name)
      if (worker === undefined) {
        const first = isQuestion
          ? await store.getValue(tenant, key)
          : await store.setValue(tenant, key, String(self), true, { durable: 'soon' })
        if (first === undefined) return undefined
        // There may have been more of them when it was written.
        worker = Number(first) % count
        known.set(name, worker)
      }
      return worker === self ? undefined : { kind: 'elsewhere', worker }
    },
  }
}

import { BoundedMap } from '../../util/bounded-map.ts'
import type { SessionStore } from '../../ports/session-store.ts'

/** Whose a stored response is. */
export interface ResponseOwner {
  readonly session: string
  /** Absent in what was stored before agents were. */
  readonly agent?: string
}

/** Whose stored responses are: a chained request shows only its newest items, and names the response before them. */
export interface ResponseSessions {
  find(tenant: string, responseId: string): Promise<ResponseOwner | undefined>
  remember(tenant: string, responseId: string, owner: ResponseOwner): Promise<void>
}

const MOST_KNOWN = 10_000

export function responseSessions(store: Pick<SessionStore, 'getValue' | 'setValue'>): ResponseSessions {
  const known = new BoundedMap<string, ResponseOwner>(MOST_KNOWN)
  const keyOf = (id: string): string => `response-session:${id.slice(0, 200)}`
  return {
    async find(tenant, id) {
      const owner = known.get(`${tenant}\n${id}`)
      if (owner !== undefined) return owner
      const stored = await store.getValue(tenant, keyOf(id))
      return stored === undefined ? undefined : ownerIn(stored)
    },
    async remember(tenant, id, owner) {
      known.set(`${tenant}\n${id}`, owner)
      await store.setValue(tenant, keyOf(id), JSON.stringify(owner), false, { session: owner.session })
    },
  }
}

/** Older entries are the name of the session alone. */
function ownerIn(stored: string): ResponseOwner {
  if (!stored.startsWith('{"session":')) return { session: stored }
  return JSON.parse(stored) as ResponseOwner
}

import { BoundedMap } from '../../../lib/bounded-map.ts'
import type { SessionStore } from '../../../ports/session-store.ts'

/** Which session a stored response belongs to: a chained request names only the response before it. */
export interface ResponseSessions {
  find(tenant: string, responseId: string): Promise<string | undefined>
  remember(tenant: string, responseId: string, session: string): Promise<void>
}

const MOST_KNOWN = 10_000

export function responseSessions(store: Pick<SessionStore, 'getValue' | 'setValue'>): ResponseSessions {
  const known = new BoundedMap<string, string>(MOST_KNOWN)
  const keyOf = (id: string): string => `response-session:${id.slice(0, 200)}`
  return {
    async find(tenant, id) {
      return known.get(`${tenant}\n${id}`) ?? (await store.getValue(tenant, keyOf(id)))
    },
    async remember(tenant, id, session) {
      known.set(`${tenant}\n${id}`, session)
      await store.setValue(tenant, keyOf(id), session, false, { session })
    },
  }
}

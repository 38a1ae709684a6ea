import { isPlimsollError } from '../../core/errors.ts'
import type { SessionStore } from '../../ports/session-store.ts'
import { BoundedMap, jointKey } from '../../util/bounded-map.ts'

type Values = Pick<SessionStore, 'getValue' | 'setValue'>

/** Characters of values. */
const MOST_KNOWN = 4_000_000
const MOST_OWED = 10_000

/** A store's values for what requests depend on: while the store is away, the newest that this process knows answer, and are written when it is back. */
export function knownValues(store: Values): Values {
  const known = new BoundedMap<string, string>(MOST_KNOWN)
  const owed = new BoundedMap<string, () => Promise<unknown>>(MOST_OWED)
  const unlessAway = <T>(work: Promise<T>, instead: () => T): Promise<T> =>
    work.catch((error: unknown) => {
      if (!isPlimsollError(error, 'store-unavailable')) throw error
      return instead()
    })
  return {
    async getValue(tenant, key) {
      const name = jointKey(tenant, key)
      const write = owed.get(name)
      if (write !== undefined) {
        await unlessAway(
          write().then(() => void owed.delete(name)),
          () => undefined,
        )
        return known.get(name)
      }
      const value = await unlessAway(store.getValue(tenant, key), () => known.get(name))
      if (value !== undefined) known.set(name, value, value.length)
      return value
    },
    async setValue(tenant, key, value, ...how) {
      const name = jointKey(tenant, key)
      known.set(name, value, value.length)
      owed.delete(name)
      const write = (): Promise<string> => store.setValue(tenant, key, value, ...how)
      return unlessAway(write(), () => {
        owed.set(name, write)
        return value
      })
    },
  }
}

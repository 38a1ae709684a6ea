import { BoundedMap } from '../../../util/bounded-map.ts'
import { text } from '../rows.ts'
import type { SqliteDatabase } from './database.ts'

/**
 * Which keys of a tenant an index holds. Every request asks about keys that nobody has written, and a set says so for a hundredth of what a
 * query costs. Good for as long as nobody else commits, like all that is read ahead.
 */
export interface KnownKeys {
  /** Those of `keys` that the index may hold. */
  among(db: SqliteDatabase, tenant: number, keys: readonly string[]): readonly string[]
  /** This process has put one in. */
  add(tenant: number, key: string): void
  clear(): void
}

/** Keys that are held, of all tenants together. */
const MOST_KEYS = 100_000
/** Whose index is longer is asked each time. */
const MOST_OF_TENANT = 5_000
/** Questions before the keys are read, again where they had to go: where others commit all the time, reading costs more than asking. */
const WORTH_READING = 8
const MOST_TENANTS = 10_000

/** `select` gives the keys of one tenant, at most as many as its second value says, in a column `key`. */
export function knownKeys(select: string): KnownKeys {
  const sets = new BoundedMap<number, Set<string> | 'too many'>(MOST_KEYS)
  const asked = new BoundedMap<number, number>(MOST_TENANTS)

  function read(db: SqliteDatabase, tenant: number): Set<string> | 'too many' {
    const rows = db.all(select, tenant, MOST_OF_TENANT + 1)
    const keys = rows.length > MOST_OF_TENANT ? 'too many' : new Set(rows.map((row) => text(row, 'key')))
    sets.set(tenant, keys, typeof keys === 'string' ? 1 : keys.size + 1)
    return keys
  }

  function keysOf(db: SqliteDatabase, tenant: number): Set<string> | 'too many' | undefined {
    const known = sets.get(tenant)
    if (known !== undefined) return known
    const times = (asked.get(tenant) ?? 0) + 1
    asked.set(tenant, times % WORTH_READING)
    return times < WORTH_READING ? undefined : read(db, tenant)
  }

  return {
    among(db, tenant, keys) {
      const known = keysOf(db, tenant)
      return known === undefined || known === 'too many' ? keys : keys.filter((key) => known.has(key))
    },
    add(tenant, key) {
      const known = sets.peek(tenant)
      if (known === undefined || known === 'too many' || known.has(key)) return
      sets.set(tenant, known.add(key), known.size + 1)
    },
    clear() {
      sets.clear()
      asked.clear()
    },
  }
}

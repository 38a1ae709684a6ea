import { BoundedMap } from '../../../util/bounded-map.ts'
import type { SqliteDatabase } from './database.ts'
import { knownKeys, type KnownKeys } from './known-keys.ts'

export interface SessionHead {
  readonly id: number
  readonly version: number
  readonly bytes: number
}

export interface FreshText {
  readonly owner: string
  readonly tenant: number
  /** Empty for what has no words. */
  readonly text: string
}

/**
 * What this connection read or wrote last: good until another connection commits, which the engine says for a fraction of what a query
 * costs. A job that is rolled back takes all of it along.
 */
export interface ReadCache {
  /** Numbers of tenants never change. */
  readonly tenants: BoundedMap<string, number>
  readonly heads: BoundedMap<string, SessionHead>
  readonly values: BoundedMap<string, { readonly value: string | undefined }>
  /** Of epochs and of first-send edits. */
  readonly covers: KnownKeys
  readonly editKeys: KnownKeys
  /** Texts of records that this process has just appended, by record: the search index need not read them again. */
  readonly fresh: BoundedMap<number, FreshText>
  /**
   * To be called before anything is taken from here. The engine is asked once in each turn of the event loop: who was answered by another
   * process after that is heard in a later turn.
   */
  refresh(db: SqliteDatabase): void
  /** A transaction began, or this process committed something: the engine is asked again. */
  recheck(): void
  /** What is held is what the database held when `others` had this value. */
  isAsOf(version: number | string): boolean
  clear(): void
}

const MOST_TENANTS = 10_000
const MOST_HEADS = 20_000
const VALUE_BYTES = 4 * 1024 * 1024
const FRESH_BYTES = 4 * 1024 * 1024

/** `others` gives another value as soon as somebody else has committed. */
export function readCache(others: (db: SqliteDatabase) => number | string): ReadCache {
  const tenants = new BoundedMap<string, number>(MOST_TENANTS)
  const heads = new BoundedMap<string, SessionHead>(MOST_HEADS)
  const values = new BoundedMap<string, { readonly value: string | undefined }>(VALUE_BYTES)
  const fresh = new BoundedMap<number, FreshText>(FRESH_BYTES)
  const covers = knownKeys('SELECT DISTINCT cover AS key FROM epochs WHERE tenant = ? LIMIT ?')
  const editKeys = knownKeys('SELECT DISTINCT key FROM edits WHERE tenant = ? LIMIT ?')
  let seen: number | string | undefined
  let isFresh = false
  const recheck = (): void => void (isFresh = false)
  const forget = (): void => {
    heads.clear()
    values.clear()
    covers.clear()
    editKeys.clear()
  }
  return {
    tenants,
    heads,
    values,
    covers,
    editKeys,
    fresh,
    refresh(db) {
      if (isFresh) return
      const version = others(db)
      if (version !== seen) forget()
      seen = version
      isFresh = true
      setImmediate(recheck)
    },
    recheck,
    isAsOf: (version) => version === seen,
    clear() {
      tenants.clear()
      fresh.clear()
      forget()
    },
  }
}

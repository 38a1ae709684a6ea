import { PlimsollError } from '../core/errors.ts'
import { aesSeal, keyFromEnvironment, type Seal } from './crypto/seal.ts'
import { memoryStore } from './sessions/memory.ts'
import { postgresStore } from './sessions/postgres/index.ts'
import { sqliteStore } from './sessions/sqlite/index.ts'
import type { Clock } from '../ports/clock.ts'
import type { MaintainedStore } from '../ports/store-maintenance.ts'

/** `sqlite:./file`, `sqlite:///file` and `sqlite://./file` name files as people expect. */
export const sqlitePath = (url: string): string => url.slice('sqlite:'.length).replace(/^\/\/(?=\/|\.)/, '')

/** `?schema=` names the schema; the rest of the address is the driver's. */
export function schemaOf(url: string): { url: string; schema?: string } {
  const found = /[?&]schema=([^&]*)/.exec(url)
  if (found?.[1] === undefined) return { url }
  const rest = url.replace(found[0], found[0].startsWith('?') ? '?' : '')
  return { url: rest.replace('?&', '?').replace(/\?$/, ''), schema: decodeURIComponent(found[1]) }
}

/** Removes the password from an address, for messages and logs. */
export const withoutPassword = (url: string): string => url.replace(/^([a-z]+:\/\/[^:@/]*):[^@/]*@/i, '$1:***@')

/** Everything that depends on the kind of a store's address. */
interface StoreScheme {
  store(url: string, options: { clock?: Clock; seal?: Seal }): MaintainedStore
  /** The address of the artifacts that belong to it, unless told otherwise. */
  artifacts(url: string): string
}

const postgres: StoreScheme = {
  store: (url, options) => postgresStore({ ...options, ...schemaOf(url) }),
  artifacts: (url) => url,
}

const SCHEMES: Readonly<Record<string, StoreScheme>> = {
  'memory:': { store: (_, { clock }) => memoryStore({ clock }), artifacts: () => 'memory:' },
  'sqlite:': {
    store: (url, options) => sqliteStore({ ...options, path: sqlitePath(url) }),
    artifacts: (url) => `file:${sqlitePath(url).replace(/\.db$/, '')}-artifacts`,
  },
  'postgres:': postgres,
  'postgresql:': postgres,
}

/** @throws PlimsollError `bad-config` for an address that no store has. */
export function storeSchemeOf(url: string): StoreScheme {
  const scheme = url.slice(0, url.indexOf(':') + 1)
  const found = SCHEMES[scheme]
  // Only the memory store has no path.
  if (found !== undefined && (scheme === 'memory:') === (url === scheme)) return found
  throw new PlimsollError('bad-config', `There is no store for the address ${JSON.stringify(withoutPassword(url))}.`, {
    advice: 'Use memory:, sqlite:./plimsoll.db or postgres://user@host/database.',
  })
}

export interface OpenStoreOptions {
  /** Encryption at rest, in SQLite and Postgres. @default PLIMSOLL_KEY or PLIMSOLL_KEY_FILE, else none */
  encryptionKey?: Uint8Array
  /** @default process.env */
  environment?: Readonly<Record<string, string | undefined>>
  clock?: Clock
}

/** `memory:`, `sqlite:./plimsoll.db`, `postgres://user@host/database`. Nothing is touched before the first call to the store. */
export function openStore(url: string, options: OpenStoreOptions = {}): MaintainedStore {
  const { environment = process.env, encryptionKey = keyFromEnvironment(environment), ...common } = options
  return storeSchemeOf(url).store(url, { ...common, seal: encryptionKey && aesSeal(encryptionKey) })
}

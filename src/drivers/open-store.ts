import { PlimsollError } from '../core/errors.ts'
import { aesSeal, keyFromEnvironment, type Seal } from './crypto/seal.ts'
import { memoryEvents } from './events/bus.ts'
import { postgresEvents } from './events/postgres.ts'
import { sqliteEvents } from './events/sqlite.ts'
import { memoryStore } from './sessions/memory.ts'
import { nullStore } from './sessions/null.ts'
import { postgresStore } from './sessions/postgres/index.ts'
import { sqliteStore } from './sessions/sqlite/index.ts'
import type { Clock } from '../ports/clock.ts'
import type { EventBus } from '../ports/event-bus.ts'
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

/** Addresses end up in messages and logs; passwords must not. */
export const withoutPassword = (url: string): string => url.replace(/^([a-z]+:\/\/[^:@/]*):[^@/]*@/i, '$1:***@')

export interface OpenEventsOptions {
  /** Told when events could not be sent or heard; nothing else suffers from it. */
  readonly onTrouble?: (error: unknown) => void
}

/** Everything that an address of a store decides: a new store fills all of it. */
interface StoreScheme {
  store(url: string, options: { clock?: Clock; seal?: Seal }): MaintainedStore
  /** The address of the artifacts that belong to it, unless told otherwise. */
  artifacts(url: string): string
  /** How those who share it tell each other what happens. */
  events(url: string, options: OpenEventsOptions): EventBus
}

const postgres: StoreScheme = {
  store: (url, options) => postgresStore({ ...options, ...schemaOf(url) }),
  artifacts: (url) => url,
  events: (url, options) => postgresEvents({ ...options, ...schemaOf(url) }),
}

const SCHEMES: ReadonlyMap<string, StoreScheme> = new Map<string, StoreScheme>([
  [
    'memory:',
    {
      store: (_, { clock }) => memoryStore(clock === undefined ? {} : { clock }),
      artifacts: () => 'memory:',
      events: () => memoryEvents(),
    },
  ],
  [
    'null:',
    {
      store: () => nullStore(),
      artifacts: () => 'memory:',
      events: () => memoryEvents(),
    },
  ],
  [
    'sqlite:',
    {
      store: (url, options) => sqliteStore({ ...options, path: sqlitePath(url) }),
      artifacts: (url) => `file:${sqlitePath(url).replace(/\.db$/, '')}-artifacts`,
      events: (url, options) => sqliteEvents({ ...options, path: `${sqlitePath(url)}-events` }),
    },
  ],
  ['postgres:', postgres],
  ['postgresql:', postgres],
])

/** Those that have nothing behind the colon, and those that must. */
const BARE = new Set(['memory:', 'null:'])

/** @throws PlimsollError `bad-config` for an address that no store has. */
export function storeSchemeOf(url: string): StoreScheme {
  const scheme = url.slice(0, url.indexOf(':') + 1)
  const found = SCHEMES.get(scheme)
  if (found !== undefined && BARE.has(scheme) === (url === scheme)) return found
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

/** `memory:`, `null:`, `sqlite:./plimsoll.db`, `postgres://user@host/database`. Nothing is touched before the first call to the store. */
export function openStore(url: string, options: OpenStoreOptions = {}): MaintainedStore {
  const { environment = process.env, encryptionKey = keyFromEnvironment(environment), ...common } = options
  return storeSchemeOf(url).store(
    url,
    encryptionKey === undefined ? common : { ...common, seal: aesSeal(encryptionKey) },
  )
}

/** The bus of all processes that share the store at this address. */
export const openEvents = (store: string, options: OpenEventsOptions = {}): EventBus =>
  storeSchemeOf(store).events(store, options)

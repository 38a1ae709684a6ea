import { PlimsollError } from '../core/errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { MaintainedStore } from '../ports/store-maintenance.ts'
import { aesSeal } from './crypto/aes-seal.ts'
import { keyFromEnvironment } from './crypto/key-source.ts'
import { memoryStore } from './sessions/memory.ts'
import { nullStore } from './sessions/null.ts'
import { postgresStore } from './sessions/postgres/index.ts'
import { sqliteStore } from './sessions/sqlite/index.ts'

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
  const sealed = encryptionKey === undefined ? common : { ...common, seal: aesSeal(encryptionKey) }
  const colon = url.indexOf(':')
  const scheme = url.slice(0, colon)
  const rest = url.slice(colon + 1)
  if (scheme === 'memory' && rest === '') return memoryStore(common)
  if (scheme === 'null' && rest === '') return nullStore()
  if (scheme === 'sqlite' && rest !== '') return sqliteStore({ ...sealed, path: sqlitePath(url) })
  if (scheme === 'postgres' || scheme === 'postgresql') return postgresStore({ ...sealed, ...schemaOf(url) })
  throw new PlimsollError('bad-config', `There is no store for the address ${JSON.stringify(withoutPassword(url))}.`, {
    advice: 'Use memory:, sqlite:./plimsoll.db or postgres://user@host/database.',
  })
}

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

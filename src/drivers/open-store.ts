import type { Clock } from '../ports/clock.ts'
import type { MaintainedStore } from '../ports/store-maintenance.ts'
import { aesSeal } from './crypto/aes-seal.ts'
import { keyFromEnvironment } from './crypto/key-source.ts'
import { storeSchemeOf } from './store-schemes.ts'

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

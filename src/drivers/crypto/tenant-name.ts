import { createHmac, randomBytes } from 'node:crypto'
import { BoundedMap } from '../../util/bounded-map.ts'
import type { SessionStore } from '../../ports/session-store.ts'
import { sha256Text } from './sha256.ts'

/** Values of the store itself, which belong to no client. */
const STORE = ''
const SECRET_KEY = 'secret'
const SECRET_BYTES = 32

/**
 * The store's own secret: made once, shared by every process on the store. Tenants' names and artifacts' handles are keyed
 * with it, so that neither can be computed from a credential or from content alone.
 */
export async function storeSecret(store: SessionStore): Promise<Uint8Array> {
  const existing = await store.getValue(STORE, SECRET_KEY)
  const secret = existing ?? (await store.setValue(STORE, SECRET_KEY, randomBytes(SECRET_BYTES).toString('hex'), true))
  return Buffer.from(secret, 'hex')
}

/** The name of the tenant behind a credential. The credential itself is never stored and cannot be found from the name. */
export const tenantName = (secret: Uint8Array, credential: string): string => {
  // UTF-16, since UTF-8 would give two credentials that differ in a lone surrogate one name.
  const bytes = Buffer.from(credential, 'utf16le')
  const names = known.get(secret) ?? new BoundedMap<string, string>(MOST_KNOWN)
  known.set(secret, names)
  // By its hash, so that no credential is held.
  const key = sha256Text(bytes, 'base64url')
  const name = names.get(key) ?? nameOf(secret, bytes)
  names.set(key, name)
  return name
}

/** Names by secret: a keyed hash takes several times as long as a plain one, and each request needs its tenant's. */
const known = new WeakMap<Uint8Array, BoundedMap<string, string>>()
const MOST_KNOWN = 1_000

const nameOf = (secret: Uint8Array, bytes: Uint8Array): string =>
  `t_${createHmac('sha256', secret).update('tenant:').update(bytes).digest('hex').slice(0, 32)}`

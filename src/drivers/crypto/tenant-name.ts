import { createHmac, randomBytes } from 'node:crypto'
import type { SessionStore } from '../../ports/session-store.ts'

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
  return `t_${createHmac('sha256', secret).update('tenant:').update(bytes).digest('hex').slice(0, 32)}`
}

import { createHash } from 'node:crypto'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { storeSecret } from '../drivers/crypto/tenant-name.ts'
import type { SessionStore } from '../ports/session-store.ts'

export const plimsollHome = (): string => process.env['PLIMSOLL_HOME'] ?? join(homedir(), '.plimsoll')

/** The store where none is named: PLIMSOLL_STORE, else this user's embedded one. */
export const defaultStore = (): string =>
  process.env['PLIMSOLL_STORE'] || `sqlite:${join(plimsollHome(), 'plimsoll.db')}`

/** The key of handles and tenants: the option, else PLIMSOLL_SECRET, else the one that the store keeps (and exports). */
export async function findSecret(given: Uint8Array | undefined, store: SessionStore): Promise<Uint8Array> {
  if (given !== undefined) return given
  const fromEnvironment = process.env['PLIMSOLL_SECRET']
  if (fromEnvironment !== undefined && fromEnvironment !== '')
    return createHash('sha256').update(fromEnvironment).digest()
  return storeSecret(store)
}

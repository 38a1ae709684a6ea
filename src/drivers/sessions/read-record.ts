import { isPlimsollError } from '../../core/errors.ts'
import type { LogRecord } from '../../core/records.ts'
import type { StoreProblem } from '../../ports/store-maintenance.ts'
import type { Seal, Stored } from '../crypto/seal.ts'
import { fromStored } from './record-text.ts'

/** What reading a record needs of a driver. */
export interface ReadContext {
  readonly seal: Seal
  readonly onDamage: (problem: StoreProblem) => void
}

/** Damage is reported and gives undefined, so that one bad record costs one record. */
export function readRecord(
  { seal, onDamage }: ReadContext,
  tenant: string,
  stored: { readonly body: Stored; readonly sum: string },
  where: { readonly session: string; readonly version: number },
): LogRecord | undefined {
  try {
    return fromStored(seal, tenant, stored.body, stored.sum)
  } catch (error) {
    if (isPlimsollError(error)) throw error
    onDamage({ kind: 'unreadable', tenant, ...where, message: error instanceof Error ? error.message : String(error) })
    return undefined
  }
}

/** Tenant numbers are digits, so the first `x` ends them and no word of one tenant is a word of another. */
export const wordKey = ({ seal }: ReadContext, tenantName: string, tenant: number, word: string): string =>
  `${tenant}x${seal.blindWord(tenantName, word)}`

import type { Epoch, LogRecord } from '../../../core/records.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { StoreProblem } from '../../../ports/store-maintenance.ts'
import type { Seal, Stored } from '../../crypto/seal.ts'
import { isPlimsollError } from '../../../core/errors.ts'
import type { Lru } from '../../lru.ts'
import { fromStored } from '../record-text.ts'
import type { SqlRow, SqlValue, SqliteDatabase } from './database.ts'

/** What the parts of the driver share. */
export interface Context {
  readonly seal: Seal
  readonly clock: Clock
  readonly onDamage: (problem: StoreProblem) => void
  /** Parsed epochs by record id. Records never change, so an entry can be stale only by being unasked for. */
  readonly epochs: Lru<number, Epoch>
}

/** Undefined when the tenant never wrote anything. */
export function tenantId(db: SqliteDatabase, name: string): number | undefined {
  const row = db.all('SELECT id FROM tenants WHERE name = ?', name)[0]
  return row === undefined ? undefined : int(row, 'id')
}

export function ensureTenant(db: SqliteDatabase, name: string): number {
  const id = tenantId(db, name)
  if (id !== undefined) return id
  return int(db.all('INSERT INTO tenants (name) VALUES (?) RETURNING id', name)[0], 'id')
}

export const int = (row: SqlRow | undefined, column: string): number => Number(row?.[column] ?? 0)
export const text = (row: SqlRow | undefined, column: string): string => String(row?.[column] ?? '')

/** A record of a row with `body` and `sum`; damage is reported and gives undefined, so that one bad record costs one record. */
export function recordOf(
  context: Context,
  tenant: string,
  row: SqlRow,
  where: { session: string; version: number },
): LogRecord | undefined {
  try {
    return fromStored(context.seal, tenant, row['body'] as Stored, text(row, 'sum'))
  } catch (error) {
    if (isPlimsollError(error)) throw error
    context.onDamage({
      kind: 'unreadable',
      tenant,
      ...where,
      message: error instanceof Error ? error.message : String(error),
    })
    return undefined
  }
}

export const jsonList = (values: readonly SqlValue[]): string => JSON.stringify(values)

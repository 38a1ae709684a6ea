import type { LogRecord } from '../../../core/records.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { StoreProblem } from '../../../ports/store-maintenance.ts'
import type { Seal, Stored } from '../../crypto/seal.ts'
import type { EpochCache } from '../epoch-rows.ts'
import { readRecord } from '../read-record.ts'
import { int, text } from '../rows.ts'
import type { SqlRow, SqlValue, SqliteDatabase } from './database.ts'

/** What the parts of the driver share. */
export interface Context {
  readonly seal: Seal
  readonly clock: Clock
  readonly onDamage: (problem: StoreProblem) => void
  readonly epochs: EpochCache
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

export const recordOf = (
  context: Context,
  tenant: string,
  row: SqlRow,
  where: { session: string; version: number },
): LogRecord | undefined => readRecord(context, tenant, { body: row['body'] as Stored, sum: text(row, 'sum') }, where)

export const jsonList = (values: readonly SqlValue[]): string => JSON.stringify(values)

import type { LogRecord } from '../../../core/records.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { StoreProblem } from '../../../ports/store-maintenance.ts'
import type { Seal, Stored } from '../../crypto/seal.ts'
import type { EpochCache } from '../epoch-rows.ts'
import { readRecord } from '../read-record.ts'
import { int, text } from '../rows.ts'
import type { SqlRow, SqlValue, SqliteDatabase } from './database.ts'
import type { ReadCache } from './read-cache.ts'

/** What the parts of the driver share. */
export interface Context {
  readonly seal: Seal
  readonly clock: Clock
  readonly onDamage: (problem: StoreProblem) => void
  readonly epochs: EpochCache
  readonly cache: ReadCache
}

/** Undefined when the tenant never wrote anything. */
export function tenantId(db: SqliteDatabase, { cache: { tenants } }: Context, name: string): number | undefined {
  const known = tenants.get(name)
  if (known !== undefined) return known
  const row = db.all('SELECT id FROM tenants WHERE name = ?', name)[0]
  if (row === undefined) return undefined
  tenants.set(name, int(row, 'id'))
  return int(row, 'id')
}

export const ensureTenant = (db: SqliteDatabase, context: Context, name: string): number =>
  tenantId(db, context, name) ?? db.insert('INSERT INTO tenants (name) VALUES (?)', name)

export const recordOf = (
  context: Context,
  tenant: string,
  row: SqlRow,
  where: { session: string; version: number },
): LogRecord | undefined => readRecord(context, tenant, { body: row['body'] as Stored, sum: text(row, 'sum') }, where)

export const jsonList = (values: readonly SqlValue[]): string => JSON.stringify(values)

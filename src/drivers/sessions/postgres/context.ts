import type { LogRecord } from '../../../core/records.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { StoreProblem } from '../../../ports/store-maintenance.ts'
import type { Seal, Stored } from '../../crypto/seal.ts'
import type { Queries } from '../../postgres/connection.ts'
import type { BoundedMap } from '../../../util/bounded-map.ts'
import type { EpochCache } from '../epoch-rows.ts'
import { readRecord } from '../read-record.ts'
import { int, text, type Row } from '../rows.ts'

/** What the parts of the driver share. */
export interface Context {
  readonly seal: Seal
  /** Without one the server's clock counts, which all machines share. */
  readonly clock: Clock | undefined
  readonly onDamage: (problem: StoreProblem) => void
  readonly epochs: EpochCache
  /** Numbers of tenants; they never change. */
  readonly tenants: BoundedMap<string, number>
}

export const SERVER_NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

/** Undefined when the tenant never wrote anything. */
export async function tenantId(queries: Queries, context: Context, name: string): Promise<number | undefined> {
  const known = context.tenants.get(name)
  if (known !== undefined) return known
  const [row] = await queries.query('SELECT id FROM tenants WHERE name = $1', [name])
  if (row === undefined) return undefined
  context.tenants.set(name, int(row, 'id'), 1)
  return int(row, 'id')
}

export async function ensureTenant(queries: Queries, context: Context, name: string): Promise<number> {
  const known = await tenantId(queries, context, name)
  if (known !== undefined) return known
  await queries.query('INSERT INTO tenants (name) VALUES ($1) ON CONFLICT DO NOTHING', [name])
  return (await tenantId(queries, context, name)) ?? 0
}

/** Sealed bytes travel as base64: a text column serves both, and a plain store can be read with any tool. */
export const toColumn = (stored: Stored): string =>
  typeof stored === 'string' ? stored : Buffer.from(stored).toString('base64')
export const fromColumn = (seal: Seal, column: string): Stored =>
  seal.name === 'plain' ? column : Buffer.from(column, 'base64')

export const recordOf = (
  context: Context,
  tenant: string,
  row: Row,
  where: { session: string; version: number },
): LogRecord | undefined =>
  readRecord(context, tenant, { body: fromColumn(context.seal, text(row, 'body')), sum: text(row, 'sum') }, where)

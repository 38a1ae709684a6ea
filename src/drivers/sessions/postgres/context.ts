import { isPlimsollError } from '../../../core/errors.ts'
import type { Epoch, LogRecord } from '../../../core/records.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { StoreProblem } from '../../../ports/store-maintenance.ts'
import type { Seal, Stored } from '../../crypto/seal.ts'
import type { Queries, Row } from '../../postgres/connection.ts'
import type { Lru } from '../../lru.ts'
import { fromStored } from '../record-text.ts'

/** What the parts of the driver share. */
export interface Context {
  readonly seal: Seal
  /** Without one the server's clock counts, which all machines share. */
  readonly clock: Clock | undefined
  readonly onDamage: (problem: StoreProblem) => void
  /** Parsed epochs by record id. Records never change, so an entry can be stale only by being unasked for. */
  readonly epochs: Lru<number, Epoch>
  /** Numbers of tenants; they never change. */
  readonly tenants: Lru<string, number>
}

export const SERVER_NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

export const int = (row: Row | undefined, column: string): number => Number(row?.[column] ?? 0)
export const text = (row: Row | undefined, column: string): string => {
  const value = row?.[column]
  return typeof value === 'string' ? value : ''
}

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

/** A record of a row with `body` and `sum`; damage is reported and gives undefined, so that one bad record costs one record. */
export function recordOf(
  context: Context,
  tenant: string,
  row: Row,
  where: { session: string; version: number },
): LogRecord | undefined {
  try {
    return fromStored(context.seal, tenant, fromColumn(context.seal, text(row, 'body')), text(row, 'sum'))
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

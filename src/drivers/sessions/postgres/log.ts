import { randomUUID } from 'node:crypto'
import type { LogRecord } from '../../../core/records.ts'
import { isUncertain, isUniqueViolation, type Postgres, type Queries } from '../../postgres/connection.ts'
import { badForkVersion, conflict, forkTargetExists, noSuchSession } from '../checks.ts'
import type { LogPage } from '../paged-log.ts'
import { appendBatch } from './append.ts'
import { copyLookups, int, text } from '../rows.ts'
import { SERVER_NOW, ensureTenant, recordOf, tenantId, type Context } from './context.ts'

export interface SessionHead {
  readonly id: number
  readonly version: number
}

const NONE: SessionHead = { id: 0, version: 0 }
const APPEND_ATTEMPTS = 3

export async function headOf(
  queries: Queries,
  context: Context,
  tenantName: string,
  session: string,
): Promise<SessionHead> {
  const tenant = await tenantId(queries, context, tenantName)
  if (tenant === undefined) return NONE
  const [row] = await queries.query('SELECT id, version FROM sessions WHERE tenant = $1 AND name = $2', [
    tenant,
    session,
  ])
  return row === undefined ? NONE : { id: int(row, 'id'), version: int(row, 'version') }
}

/**
 * When the connection breaks nobody knows whether the batch was written, so it carries an id: it is looked for, and sent
 * again only if it is not there. Should the first one still be on its way, the second collides with it.
 */
export async function append(
  postgres: Postgres,
  context: Context,
  tenantName: string,
  session: string,
  records: readonly LogRecord[],
  { expectedVersion, at }: { readonly expectedVersion?: number | undefined; readonly at?: number | undefined } = {},
): Promise<number> {
  const tenant = await ensureTenant(postgres, context, tenantName)
  if (records.length === 0) {
    const { version } = await headOf(postgres, context, tenantName, session)
    if (expectedVersion !== undefined && version !== expectedVersion) throw conflict(session, expectedVersion, version)
    return version
  }
  const batch = randomUUID()
  const once: Queries = { query: (statement, values) => postgres.once(statement, values) }
  for (let attempt = 1; ; attempt++) {
    try {
      const place = { tenantName, tenant, session }
      const version = await appendBatch(once, context, place, records, { batch, expectedVersion, at })
      if (version !== undefined) return version
      break
    } catch (error) {
      if (!isUncertain(error) && !isUniqueViolation(error)) throw error
      const written = await versionOfBatch(postgres, batch, records.length)
      if (written !== undefined) return written
      if (attempt === APPEND_ATTEMPTS || isUniqueViolation(error)) throw error
    }
  }
  throw conflict(session, expectedVersion ?? 0, (await headOf(postgres, context, tenantName, session)).version)
}

async function versionOfBatch(postgres: Postgres, batch: string, size: number): Promise<number | undefined> {
  const [row] = await postgres.query('SELECT version FROM records WHERE batch = $1', [batch])
  return row === undefined ? undefined : int(row, 'version') + size - 1
}

export async function readPage(
  queries: Queries,
  context: Context,
  tenant: string,
  session: { readonly id: number; readonly name: string },
  after: number,
  limit: number,
): Promise<LogPage> {
  const rows = await queries.query(
    'SELECT version, body, sum FROM records WHERE session = $1 AND version > $2 ORDER BY version LIMIT $3',
    [session.id, after, limit],
  )
  const records = rows.flatMap((row) => {
    const version = int(row, 'version')
    const record = recordOf(context, tenant, row, { session: session.name, version })
    return record === undefined ? [] : [{ version, record }]
  })
  return { records, last: rows.length < limit ? undefined : int(rows.at(-1), 'version') }
}

/** Runs in a transaction that is not repeated: after a broken one, only the caller knows whether the target is theirs. */
export async function fork(
  queries: Queries,
  context: Context,
  tenantName: string,
  from: string,
  to: string,
  wanted?: number,
): Promise<number> {
  const tenant = await tenantId(queries, context, tenantName)
  // Keeps the source from being removed meanwhile; appends to it go on.
  const [source] = await queries.query(
    'SELECT id, version FROM sessions WHERE tenant = $1 AND name = $2 FOR KEY SHARE',
    [tenant ?? 0, from],
  )
  if (tenant === undefined || source === undefined) throw noSuchSession(from)
  const last = int(source, 'version')
  const version = wanted ?? last
  if (version < 1 || version > last) throw badForkVersion(from, version, last)
  const [created] = await queries.query(
    `INSERT INTO sessions (tenant, name, version, bytes, created_at, updated_at)
     SELECT $1::int, $2::text, $3::bigint, 0, now.ms, now.ms FROM (SELECT COALESCE($4::bigint, ${SERVER_NOW}) AS ms) now
     ON CONFLICT DO NOTHING RETURNING id`,
    [tenant, to, version, context.clock?.now() ?? null],
  )
  if (created === undefined) throw forkTargetExists(to)
  const id = int(created, 'id')
  const range = [id, int(source, 'id'), version]
  await queries.query(
    `INSERT INTO records (session, version, body, sum)
     SELECT $1::bigint, version, body, sum FROM records WHERE session = $2 AND version <= $3 ORDER BY version`,
    range,
  )
  const copied = `JOIN records old ON old.id = i.record JOIN records new ON new.session = $1 AND new.version = old.version
     WHERE i.session = $2 AND old.version <= $3`
  const words = `INSERT INTO words (session, record, words) SELECT new.session, new.id, i.words FROM words i ${copied}`
  for (const statement of [...copyLookups(copied), words]) await queries.query(statement, range)
  const stored = await queries.query('SELECT version, body, sum FROM records WHERE session = $1', [id])
  const bytes = stored.reduce((sum, row) => sum + bytesOf(context, text(row, 'body')), 0)
  await queries.query('UPDATE sessions SET bytes = $2 WHERE id = $1', [id, bytes])
  return version
}

/** Bytes of a body as every driver counts them: sealed ones before their base64. */
export const bytesOf = (context: Context, body: string): number =>
  context.seal.name === 'plain' ? Buffer.byteLength(body) : Buffer.byteLength(body, 'base64')

/** Removes logs, what belongs to them, and everything derived from them, search words included; an edit that was first gives way to the next. */
export async function remove(queries: Queries, ids: readonly number[]): Promise<void> {
  await queries.query(
    'DELETE FROM vals WHERE (tenant, session) IN (SELECT tenant, name FROM sessions WHERE id = ANY($1::bigint[]))',
    [ids],
  )
  await queries.query('DELETE FROM sessions WHERE id = ANY($1::bigint[])', [ids])
  for (const table of ['words', 'epochs', 'undos', 'edits', 'items', 'records']) {
    await queries.query(`DELETE FROM ${table} WHERE session = ANY($1::bigint[])`, [ids])
  }
  const gone = await queries.query('DELETE FROM edit_firsts WHERE session = ANY($1::bigint[]) RETURNING tenant, key', [
    ids,
  ])
  if (gone.length === 0) return
  await queries.query(
    `INSERT INTO edit_firsts (tenant, key, record, session)
     SELECT DISTINCT ON (e.tenant, e.key) e.tenant, e.key, e.record, e.session
     FROM unnest($1::int[], $2::text[]) AS g(tenant, key) JOIN edits e ON e.tenant = g.tenant AND e.key = g.key
     ORDER BY e.tenant, e.key, e.record ON CONFLICT DO NOTHING`,
    [gone.map((row) => row['tenant']), gone.map((row) => row['key'])],
  )
}

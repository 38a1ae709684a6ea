import { randomUUID } from 'node:crypto'
import type { LogRecord } from '../../../core/records.ts'
import { isUncertain, isUniqueViolation, type Postgres, type Queries } from '../../postgres/connection.ts'
import { badForkVersion, conflict, forkTargetExists, noSuchSession } from '../checked-store.ts'
import { type LogPage, copyLookups, int, text, type EpochCache, type Row } from '../rows.ts'
import { wordsOf } from '../../../core/search-words.ts'
import type { Seal, Stored } from '../../crypto/seal.ts'
import { keyOf, readRecord, toStored, wordKey } from '../records.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { StoreProblem } from '../../../ports/store-maintenance.ts'
import type { BoundedMap } from '../../../util/bounded-map.ts'

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

// Postgres holds at most a megabyte in one text-search vector; this many words of the longest kind stay far below it.
const WORDS_PER_ROW = 2000

const NEW_HEAD = `
  INSERT INTO sessions AS s (tenant, name, version, bytes, created_at, updated_at)
  SELECT $1::int, $2::text, $3::bigint, $4::bigint, now.ms, now.ms FROM now
  ON CONFLICT (tenant, name) DO UPDATE SET version = s.version + $3, bytes = s.bytes + $4, updated_at = excluded.updated_at
  WHERE $6::bigint IS NULL OR s.version = $6
  RETURNING id, version`

const KNOWN_HEAD = `
  UPDATE sessions SET version = version + $3::bigint, bytes = bytes + $4::bigint, updated_at = now.ms FROM now
  WHERE tenant = $1::int AND name = $2::text AND version = $6::bigint
  RETURNING id, version`

/*
 * The whole batch in one statement: one round trip, one atomic commit. The head's row lock orders the writers of a session;
 * when the head does not move, nothing below it has a row to work on. Edits are inserted in key order, so two batches with
 * the same keys wait for each other instead of deadlocking.
 */
const statement = (head: string): string => `
WITH now AS (SELECT COALESCE($5::bigint, ${SERVER_NOW}) AS ms),
head AS (${head}),
added AS (
  INSERT INTO records (session, version, body, sum, batch)
  SELECT head.id, head.version - $3 + r.n, r.body, r.sum, CASE WHEN r.n = 1 THEN $9::uuid END
  FROM head, unnest($7::text[], $8::text[]) WITH ORDINALITY AS r(body, sum, n)
  RETURNING id, session, version
),
placed AS (SELECT added.id, added.session, added.version - (head.version - $3) AS n FROM added, head),
epochs_in AS (
  INSERT INTO epochs (tenant, cover, record, epoch, session)
  SELECT $1, k.cover, placed.id, k.epoch, placed.session
  FROM unnest($10::int[], $11::text[], $12::text[]) AS k(n, cover, epoch) JOIN placed USING (n)
),
undos_in AS (
  INSERT INTO undos (tenant, epoch, session, record)
  SELECT $1, k.epoch, placed.session, placed.id FROM unnest($13::int[], $14::text[]) AS k(n, epoch) JOIN placed USING (n)
),
edits_new AS (
  SELECT k.key, placed.id, placed.session FROM unnest($15::int[], $16::text[]) AS k(n, key) JOIN placed USING (n)
),
edits_in AS (INSERT INTO edits (tenant, key, record, session) SELECT $1, key, id, session FROM edits_new),
firsts_in AS (
  INSERT INTO edit_firsts (tenant, key, record, session)
  SELECT DISTINCT ON (key) $1::int, key, id, session FROM edits_new ORDER BY key, id ON CONFLICT DO NOTHING
),
items_in AS (
  INSERT INTO items (tenant, identity, session, record)
  SELECT $1, k.identity, placed.session, placed.id FROM unnest($17::int[], $18::text[]) AS k(n, identity) JOIN placed USING (n)
),
words_in AS (
  INSERT INTO words (session, record, words)
  SELECT placed.session, placed.id, array_to_tsvector(string_to_array(k.words, ' '))
  FROM unnest($19::int[], $20::text[]) AS k(n, words) JOIN placed USING (n)
)
SELECT version FROM head`

const APPEND = statement(NEW_HEAD)
const APPEND_ON = statement(KNOWN_HEAD)

/** Resolves with the new version, or undefined when the session is not at `expectedVersion`. */
export async function appendBatch(
  queries: Queries,
  context: Context,
  place: { readonly tenantName: string; readonly tenant: number; readonly session: string },
  records: readonly LogRecord[],
  options: { readonly batch: string; readonly expectedVersion?: number | undefined; readonly at?: number | undefined },
): Promise<number | undefined> {
  const { tenantName, tenant, session } = place
  const { batch, expectedVersion, at } = options
  const stored = records.map((record) => toStored(context.seal, tenantName, record))
  const keys = keysOf(context, tenantName, tenant, records)
  const onKnown = expectedVersion !== undefined && expectedVersion > 0
  const [row] = await queries.query(onKnown ? APPEND_ON : APPEND, [
    tenant,
    session,
    records.length,
    stored.reduce((sum, { bytes }) => sum + bytes, 0),
    at ?? context.clock?.now() ?? null,
    expectedVersion ?? null,
    stored.map(({ body }) => toColumn(body)),
    stored.map(({ sum }) => sum),
    batch,
    ...columns(keys.epochs, 3),
    ...columns(keys.undos, 2),
    ...columns(keys.edits, 2),
    ...columns(keys.items, 2),
    ...columns(keys.words, 2),
  ])
  return row === undefined ? undefined : Number(row['version'])
}

type KeyRow = readonly (string | number)[]

/** Lookup rows, each with the place of its record in the batch. */
function keysOf(context: Context, tenantName: string, tenant: number, records: readonly LogRecord[]) {
  const epochs: KeyRow[] = []
  const undos: KeyRow[] = []
  const edits: KeyRow[] = []
  const items: KeyRow[] = []
  const words: KeyRow[] = []
  const blind = (key: string): string => context.seal.blind(tenantName, key)
  records.forEach((record, i) => {
    const n = i + 1
    const key = keyOf(record)
    if (key?.index === 'epoch') epochs.push([n, blind(key.cover), blind(key.id)])
    else if (key?.index === 'undo') undos.push([n, blind(key.id)])
    else if (key?.index === 'edit') edits.push([n, blind(key.key)])
    else if (key?.index === 'item') {
      items.push([n, blind(key.identity)])
      for (const chunk of wordRows(context, tenantName, tenant, key.text)) words.push([n, chunk])
    }
  })
  return { epochs, undos, edits, items, words }
}

function wordRows(context: Context, tenantName: string, tenant: number, text: string): string[] {
  const words = wordsOf(text).map((word) => wordKey(context, tenantName, tenant, word))
  return Array.from({ length: Math.ceil(words.length / WORDS_PER_ROW) }, (_, i) =>
    words.slice(i * WORDS_PER_ROW, (i + 1) * WORDS_PER_ROW).join(' '),
  )
}

/** Rows as one array per column, for unnest. */
const columns = (rows: readonly KeyRow[], count: number): unknown[][] =>
  Array.from({ length: count }, (_, column) => rows.map((row) => row[column]))

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

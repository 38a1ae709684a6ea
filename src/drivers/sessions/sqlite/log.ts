import { badForkVersion, conflict, forkTargetExists, noSuchSession } from '../checks.ts'
import type { LogPage } from '../paged-log.ts'
import { plainSeal } from '../../crypto/seal.ts'
import type { RecordKey } from '../record-keys.ts'
import { textToStored } from '../record-text.ts'
import { copyLookups, int } from '../rows.ts'
import { ensureTenant, recordOf, tenantId, type Context } from './context.ts'
import type { SqliteDatabase, SqlRow, SqlValue } from './database.ts'
import { countOf, entriesIn, type Entries } from './entries.ts'
import type { SessionHead } from './read-cache.ts'

const NONE: SessionHead = { id: 0, version: 0, bytes: 0 }

export function headOf(
  db: SqliteDatabase,
  { cache }: Context,
  tenant: number | undefined,
  session: string,
): SessionHead {
  if (tenant === undefined) return NONE
  cache.refresh(db)
  const known = cache.heads.get(headKey(tenant, session))
  if (known !== undefined) return known
  const row = db.all('SELECT id, version, bytes FROM sessions WHERE tenant = ? AND name = ?', tenant, session)[0]
  const head = row === undefined ? NONE : headIn(row)
  cache.heads.set(headKey(tenant, session), head, 1)
  return head
}

const headIn = (row: SqlRow): SessionHead => ({
  id: int(row, 'id'),
  version: int(row, 'version'),
  bytes: int(row, 'bytes'),
})

export const headKey = (tenant: number, session: string): string => `${tenant} ${session}`

export interface Appended extends SessionHead {
  /** The tenant's number. */
  readonly tenant: number
}

/** Gives the session's new head. Runs inside a transaction; every step touches a bounded number of rows, whatever the length of the session. */
export function append(
  db: SqliteDatabase,
  context: Context,
  tenantName: string,
  session: string,
  entries: Entries,
  expectedVersion?: number,
  now = context.clock.now(),
): Appended {
  const tenant = ensureTenant(db, context, tenantName)
  const head = headOf(db, context, tenant, session)
  if (expectedVersion !== undefined && head.version !== expectedVersion)
    throw conflict(session, expectedVersion, head.version)
  const count = countOf(entries)
  if (count === 0) return { id: head.id, version: head.version, bytes: head.bytes, tenant }
  const id = head.id === 0 ? createSession(db, tenant, session, now) : head.id
  let { version, bytes } = head
  const rows: SqlValue[] = []
  const all = entriesIn(entries)
  for (const { record } of all) {
    const stored = textToStored(context.seal, tenantName, record)
    bytes += stored.bytes
    rows.push(id, ++version, stored.body, stored.sum)
  }
  const first = (context.seal === plainSeal ? insertTexts : insertSealed)(db, rows)
  const items: SqlValue[] = []
  for (let i = 0; i < count; i++) {
    const { record, key } = all[i]!
    const text = key?.index === 'item' ? key.text : ''
    // The text of a long one is not here.
    if (typeof record === 'string')
      context.cache.fresh.set(first + i, { owner: tenantName, tenant, text }, FRESH_BYTES + text.length)
    if (key?.index === 'item') items.push(tenant, context.seal.blind(tenantName, key.identity), id, first + i)
    else if (key !== undefined) index(db, context, tenantName, { tenant, session: id, record: first + i }, key)
  }
  insertItems(db, items)
  db.run('UPDATE sessions SET version = ?, bytes = ?, updated_at = ? WHERE id = ?', version, bytes, now, id)
  context.cache.heads.set(headKey(tenant, session), { id, version, bytes }, 1)
  return { id, version, bytes, tenant }
}

/** What an entry takes beside its text, in its map and its list. */
const FRESH_BYTES = 200

/** Rows of one statement: a call of the engine costs about as much as the row that it inserts. */
const MOST_ROWS = 16

const RECORDS = 'INSERT INTO records (session, version, body, sum)'
/** Texts come as bytes where they are long. */
const insertTexts = rowInsert(RECORDS, ['?', '?', 'CAST(? AS TEXT)', '?'])
const insertSealed = rowInsert(RECORDS, ['?', '?', '?', '?'])
const insertItems = rowInsert('INSERT INTO items (tenant, identity, session, record)', ['?', '?', '?', '?'])

/** Inserts rows, given as their values one after the other, and gives the id of the first: nobody else writes meanwhile, so those of the others follow on it. */
function rowInsert(
  into: string,
  places: readonly string[],
): (db: SqliteDatabase, values: readonly SqlValue[]) => number {
  const columns = places.length
  const row = `(${places.join(', ')})`
  const statements = Array.from({ length: MOST_ROWS + 1 }, (_, rows) => {
    return `${into} VALUES ${Array<string>(rows).fill(row).join(', ')}`
  })
  return (db, values) => {
    let last = 0
    for (let from = 0; from < values.length; from += MOST_ROWS * columns) {
      const some = values.length <= MOST_ROWS * columns ? values : values.slice(from, from + MOST_ROWS * columns)
      last = db.insert(statements[some.length / columns]!, ...some)
    }
    return last - values.length / columns + 1
  }
}

function createSession(db: SqliteDatabase, tenant: number, session: string, now: number): number {
  return db.insert(
    'INSERT INTO sessions (tenant, name, version, bytes, created_at, updated_at) VALUES (?, ?, 0, 0, ?, ?)',
    tenant,
    session,
    now,
    now,
  )
}

interface Place {
  readonly tenant: number
  readonly session: number
  readonly record: number
}

/** Items are many, and go in together. */
function index(db: SqliteDatabase, context: Context, tenantName: string, place: Place, key: RecordKey): void {
  const { seal, cache } = context
  const { tenant, session, record: id } = place
  if (key.index === 'epoch') {
    const cover = seal.blind(tenantName, key.cover)
    const epoch = seal.blind(tenantName, key.id)
    db.run(
      'INSERT INTO epochs (tenant, cover, record, epoch, session) VALUES (?, ?, ?, ?, ?)',
      tenant,
      cover,
      id,
      epoch,
      session,
    )
    cache.covers.add(tenant, cover)
  } else if (key.index === 'undo') {
    const epoch = seal.blind(tenantName, key.id)
    db.run('INSERT INTO undos (tenant, epoch, session, record) VALUES (?, ?, ?, ?)', tenant, epoch, session, id)
  } else if (key.index === 'edit') {
    const blind = seal.blind(tenantName, key.key)
    db.run('INSERT INTO edits (tenant, key, record, session) VALUES (?, ?, ?, ?)', tenant, blind, id, session)
    cache.editKeys.add(tenant, blind)
  }
}

export function readPage(
  db: SqliteDatabase,
  context: Context,
  tenant: string,
  session: { readonly id: number; readonly name: string },
  after: number,
  limit: number,
): LogPage {
  const rows = db.all(
    'SELECT version, body, sum FROM records WHERE session = ? AND version > ? ORDER BY version LIMIT ?',
    session.id,
    after,
    limit,
  )
  const records = rows.flatMap((row) => {
    const version = int(row, 'version')
    const record = recordOf(context, tenant, row, { session: session.name, version })
    return record === undefined ? [] : [{ version, record }]
  })
  return { records, last: rows.length < limit ? undefined : int(rows.at(-1), 'version') }
}

export function fork(
  db: SqliteDatabase,
  context: Context,
  tenantName: string,
  from: string,
  to: string,
  wanted?: number,
): number {
  const tenant = tenantId(db, context, tenantName)
  const source = headOf(db, context, tenant, from)
  if (tenant === undefined || source.id === 0) throw noSuchSession(from)
  if (headOf(db, context, tenant, to).id !== 0) throw forkTargetExists(to)
  const version = wanted ?? source.version
  if (version < 1 || version > source.version) throw badForkVersion(from, version, source.version)
  const now = context.clock.now()
  const id = createSession(db, tenant, to, now)
  db.run(
    `INSERT INTO records (session, version, body, sum)
     SELECT ?, version, body, sum FROM records WHERE session = ? AND version <= ? ORDER BY version`,
    id,
    source.id,
    version,
  )
  const copied = `JOIN records old ON old.id = i.record
     JOIN records new ON new.session = ? AND new.version = old.version WHERE i.session = ? AND old.version <= ?`
  for (const select of copyLookups(copied)) db.run(select, id, source.id, version)
  const bytes = int(
    db.all('SELECT SUM(LENGTH(CAST(body AS BLOB))) AS bytes FROM records WHERE session = ?', id)[0],
    'bytes',
  )
  db.run('UPDATE sessions SET version = ?, bytes = ?, updated_at = ? WHERE id = ?', version, bytes, now, id)
  context.cache.heads.set(headKey(tenant, to), { id, version, bytes }, 1)
  return version
}

/** Removes the log, what belongs to it, and everything derived from it, search words included. */
export function remove(db: SqliteDatabase, { cache }: Context, id: number): void {
  cache.clear()
  db.run('DELETE FROM vals WHERE (tenant, session) IN (SELECT tenant, name FROM sessions WHERE id = ?)', id)
  db.run('DELETE FROM words WHERE rowid IN (SELECT record FROM items WHERE session = ?)', id)
  for (const table of ['epochs', 'undos', 'edits', 'items', 'records']) {
    db.run(`DELETE FROM ${table} WHERE session = ?`, id)
  }
  db.run('DELETE FROM sessions WHERE id = ?', id)
}

import { badForkVersion, conflict, forkTargetExists, noSuchSession } from '../checked-store.ts'
import { type LogPage, copyLookups, int, type EpochCache, text } from '../rows.ts'
import { type RecordKey, keyOf, readRecord, type StoredText, toStored } from '../records.ts'
import { type SqliteDatabase, type SqlRow, asBytes } from './database.ts'
import type { LogRecord } from '../../../core/records.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { StoreProblem } from '../../../ports/store-maintenance.ts'
import type { Seal, Stored } from '../../crypto/seal.ts'

/** What the parts of the driver share. */
export interface Context {
  readonly seal: Seal
  readonly clock: Clock
  readonly onDamage: (problem: StoreProblem) => void
  readonly epochs: EpochCache
}

/** A record on its way into the log. */
export interface Entry {
  readonly stored: StoredText
  readonly key: RecordKey | undefined
}

export const entryOf = ({ seal }: Context, tenant: string, record: LogRecord): Entry => ({
  stored: toStored(seal, tenant, record),
  key: keyOf(record),
})

interface SessionHead {
  /** 0 where there is no such session. */
  readonly id: number
  readonly version: number
  readonly bytes: number
}

/** 0 for a tenant that never wrote anything: nothing belongs to it. */
export const tenantId = (db: SqliteDatabase, name: string): number =>
  int(db.all('SELECT id FROM tenants WHERE name = ?', name)[0], 'id')

export const ensureTenant = (db: SqliteDatabase, name: string): number =>
  tenantId(db, name) || db.insert('INSERT INTO tenants (name) VALUES (?)', name)

export function headOf(db: SqliteDatabase, tenant: number, session: string): SessionHead {
  const row = db.all('SELECT id, version, bytes FROM sessions WHERE tenant = ? AND name = ?', tenant, session)[0]
  return { id: int(row, 'id'), version: int(row, 'version'), bytes: int(row, 'bytes') }
}

/** The columns of a record that `recordOf` reads. */
export const RECORD = `${asBytes('r.body')} AS body, ${asBytes('r.sum')} AS sum, r.version`

/** Undefined where it is damaged, which is told. */
export const recordOf = (context: Context, tenant: string, row: SqlRow, session: string): LogRecord | undefined =>
  readRecord(
    context,
    tenant,
    { body: row['body'] as Stored, sum: text(row, 'sum') },
    { session, version: int(row, 'version') },
  )

export interface AppendOptions {
  readonly expectedVersion?: number
  readonly now: number
}

/** Gives the session's new version. Every step touches a bounded number of rows, whatever the length of the session. */
export function append(
  db: SqliteDatabase,
  { seal }: Context,
  tenantName: string,
  session: string,
  entries: readonly Entry[],
  { expectedVersion, now }: AppendOptions,
): number {
  const tenant = ensureTenant(db, tenantName)
  const head = headOf(db, tenant, session)
  let { id, version, bytes } = head
  if (expectedVersion !== undefined && version !== expectedVersion) throw conflict(session, expectedVersion, version)
  if (entries.length === 0) return version
  if (id === 0) id = createSession(db, tenant, session, now)
  const blind = (key: string): string => seal.blind(tenantName, key)
  for (const { stored, key } of entries) {
    const { body, sum } = stored
    const record = db.insert(
      'INSERT INTO records (session, version, body, sum) VALUES (?, ?, ?, ?)',
      id,
      ++version,
      body,
      sum,
    )
    bytes += stored.bytes
    if (key?.index === 'item') {
      db.run(
        'INSERT INTO items (tenant, identity, session, record) VALUES (?, ?, ?, ?)',
        tenant,
        blind(key.identity),
        id,
        record,
      )
    } else if (key?.index === 'edit') {
      db.run('INSERT INTO edits (tenant, key, record, session) VALUES (?, ?, ?, ?)', tenant, blind(key.key), record, id)
    } else if (key?.index === 'undo') {
      db.run(
        'INSERT INTO undos (tenant, epoch, session, record) VALUES (?, ?, ?, ?)',
        tenant,
        blind(key.id),
        id,
        record,
      )
    } else if (key?.index === 'epoch') {
      db.run(
        'INSERT INTO epochs (tenant, cover, record, epoch, session) VALUES (?, ?, ?, ?, ?)',
        tenant,
        blind(key.cover),
        record,
        blind(key.id),
        id,
      )
    }
  }
  db.run('UPDATE sessions SET version = ?, bytes = ?, updated_at = ? WHERE id = ?', version, bytes, now, id)
  return version
}

const createSession = (db: SqliteDatabase, tenant: number, session: string, now: number): number =>
  db.insert(
    'INSERT INTO sessions (tenant, name, version, bytes, created_at, updated_at) VALUES (?, ?, 0, 0, ?, ?)',
    tenant,
    session,
    now,
    now,
  )

export function readPage(
  db: SqliteDatabase,
  context: Context,
  tenant: string,
  session: { readonly id: number; readonly name: string },
  after: number,
  limit: number,
): LogPage {
  const rows = db.all(
    `SELECT ${RECORD} FROM records r WHERE session = ? AND version > ? ORDER BY version LIMIT ?`,
    session.id,
    after,
    limit,
  )
  const records = rows.flatMap((row) => {
    const record = recordOf(context, tenant, row, session.name)
    return record === undefined ? [] : [{ version: int(row, 'version'), record }]
  })
  return { records, last: rows.length < limit ? undefined : int(rows.at(-1), 'version') }
}

export function fork(
  db: SqliteDatabase,
  { clock }: Context,
  tenantName: string,
  from: string,
  to: string,
  wanted?: number,
): number {
  const tenant = tenantId(db, tenantName)
  const source = headOf(db, tenant, from)
  if (source.id === 0) throw noSuchSession(from)
  if (headOf(db, tenant, to).id !== 0) throw forkTargetExists(to)
  const version = wanted ?? source.version
  if (version < 1 || version > source.version) throw badForkVersion(from, version, source.version)
  const now = clock.now()
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
  const sum = db.all('SELECT SUM(LENGTH(CAST(body AS BLOB))) AS bytes FROM records WHERE session = ?', id)[0]
  db.run('UPDATE sessions SET version = ?, bytes = ?, updated_at = ? WHERE id = ?', version, int(sum, 'bytes'), now, id)
  return version
}

/** Removes the log, what belongs to it, and everything derived from it, search words included. */
export function remove(db: SqliteDatabase, id: number): void {
  db.run('DELETE FROM vals WHERE (tenant, session) IN (SELECT tenant, name FROM sessions WHERE id = ?)', id)
  db.run('DELETE FROM words WHERE rowid IN (SELECT record FROM items WHERE session = ?)', id)
  for (const table of ['epochs', 'undos', 'edits', 'items', 'records']) {
    db.run(`DELETE FROM ${table} WHERE session = ?`, id)
  }
  db.run('DELETE FROM sessions WHERE id = ?', id)
}

import type { LogRecord } from '../../../core/records.ts'
import type { StoreProblem } from '../../../ports/store-maintenance.ts'
import type { Stored } from '../../crypto/seal.ts'
import { fromStored } from '../record-text.ts'
import { keyOf } from '../record-keys.ts'
import type { RecordKey } from '../record-keys.ts'
import { int, text } from './context.ts'
import type { Context } from './context.ts'
import type { SqliteDatabase } from './database.ts'

const PAGE = 256
const INDEX_TABLE = { epoch: 'epochs', undo: 'undos', edit: 'edits', item: 'items' } as const

/** Reads every page and every record once and compares the lookups with the logs. */
export function check(db: SqliteDatabase, context: Context): StoreProblem[] {
  const problems: StoreProblem[] = db
    .all('PRAGMA integrity_check')
    .map((row) => text(row, 'integrity_check'))
    .filter((message) => message !== 'ok')
    .map((message) => ({ kind: 'file', message }))
  const sessions = db.all(
    'SELECT s.id, s.name, s.version, s.bytes, t.name AS tenant FROM sessions s JOIN tenants t ON t.id = s.tenant ORDER BY s.id',
  )
  for (const row of sessions) {
    const session = {
      id: int(row, 'id'),
      name: text(row, 'name'),
      version: int(row, 'version'),
      bytes: int(row, 'bytes'),
    }
    problems.push(...checkSession(db, context, text(row, 'tenant'), session))
  }
  problems.push(...orphans(db))
  return problems
}

interface Head {
  readonly id: number
  readonly name: string
  readonly version: number
  readonly bytes: number
}

function checkSession(db: SqliteDatabase, context: Context, tenant: string, head: Head): StoreProblem[] {
  const problems: StoreProblem[] = []
  const say = (kind: StoreProblem['kind'], version: number, message: string): void => {
    problems.push({ kind, tenant, session: head.name, version, message })
  }
  let expected = 1
  let bytes = 0
  for (;;) {
    const rows = db.all(
      `SELECT id, version, body, sum, LENGTH(CAST(body AS BLOB)) AS bytes FROM records
       WHERE session = ? AND version >= ? ORDER BY version LIMIT ?`,
      head.id,
      expected,
      PAGE,
    )
    for (const row of rows) {
      const version = int(row, 'version')
      if (version > expected) say('gap', expected, `Versions ${expected} to ${version - 1} are missing.`)
      expected = version + 1
      bytes += int(row, 'bytes')
      try {
        const record = fromStored(context.seal, tenant, row['body'] as Stored, text(row, 'sum'))
        const missing = missingIndex(db, context, tenant, int(row, 'id'), record)
        if (missing !== undefined) say('index', version, missing)
      } catch (error) {
        say('unreadable', version, error instanceof Error ? error.message : String(error))
      }
    }
    if (rows.length < PAGE) break
  }
  if (expected - 1 !== head.version)
    say('gap', expected, `The log ends at ${expected - 1}; its head says ${head.version}.`)
  if (bytes !== head.bytes) say('index', head.version, `The log has ${bytes} bytes; its head says ${head.bytes}.`)
  return problems
}

function missingIndex(
  db: SqliteDatabase,
  context: Context,
  tenant: string,
  id: number,
  record: LogRecord,
): string | undefined {
  const key = keyOf(record)
  if (key === undefined) return undefined
  const table = INDEX_TABLE[key.index]
  const [column, value] = columnOf(key)
  const rows = db.all(
    `SELECT 1 FROM ${table} i JOIN tenants t ON t.id = i.tenant WHERE t.name = ? AND i.${column} = ? AND i.record = ?`,
    tenant,
    context.seal.blind(tenant, value),
    id,
  )
  return rows.length === 1 ? undefined : `The record is not in the lookup of ${table}.`
}

function columnOf(key: RecordKey): [column: string, value: string] {
  switch (key.index) {
    case 'epoch':
      return ['cover', key.cover]
    case 'undo':
      return ['epoch', key.id]
    case 'edit':
      return ['key', key.key]
    case 'item':
      return ['identity', key.identity]
  }
}

function orphans(db: SqliteDatabase): StoreProblem[] {
  const lost = Object.values(INDEX_TABLE).flatMap((table) =>
    db
      .all(
        `SELECT i.record FROM ${table} i LEFT JOIN records r ON r.id = i.record AND r.session = i.session WHERE r.id IS NULL LIMIT 100`,
      )
      .map((row) => `The lookup of ${table} points at record ${int(row, 'record')}, which is not there.`),
  )
  const homeless = db
    .all('SELECT r.id FROM records r LEFT JOIN sessions s ON s.id = r.session WHERE s.id IS NULL LIMIT 100')
    .map((row) => `Record ${int(row, 'id')} belongs to no session.`)
  return [...lost, ...homeless].map((message) => ({ kind: 'index', message }))
}

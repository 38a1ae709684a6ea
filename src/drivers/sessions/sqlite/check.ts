import type { StoreProblem } from '../../../ports/store-maintenance.ts'
import type { Stored } from '../../crypto/seal.ts'
import {
  HOMELESS,
  homelessProblem,
  LOOKUPS,
  logCheck,
  orphanProblem,
  orphansIn,
  SESSION_HEADS,
  type CheckedHead,
  type LookupIndex,
} from '../log-check.ts'
import { fromStored } from '../record-text.ts'
import { int, text } from '../rows.ts'
import type { Context } from './context.ts'
import type { SqliteDatabase } from './database.ts'

const PAGE = 256

/** Reads every page and every record once and compares the lookups with the logs. */
export function check(db: SqliteDatabase, context: Context): StoreProblem[] {
  const damage = db
    .all('PRAGMA integrity_check')
    .map((row) => text(row, 'integrity_check'))
    .filter((message) => message !== 'ok')
    .map((message): StoreProblem => ({ kind: 'file', message }))
  const logs = db.all(SESSION_HEADS).flatMap((row) =>
    checkLog(db, context, {
      id: int(row, 'id'),
      tenant: text(row, 'tenant'),
      name: text(row, 'name'),
      version: int(row, 'version'),
      bytes: int(row, 'bytes'),
    }),
  )
  const orphans = Object.values(LOOKUPS).flatMap(({ table }) =>
    db.all(orphansIn(table)).map((row) => orphanProblem(table, int(row, 'record'))),
  )
  return [...damage, ...logs, ...orphans, ...db.all(HOMELESS).map((row) => homelessProblem(int(row, 'id')))]
}

function checkLog(db: SqliteDatabase, context: Context, head: CheckedHead): readonly StoreProblem[] {
  const log = logCheck(head)
  for (;;) {
    const rows = db.all(
      `SELECT id, version, body, sum, LENGTH(CAST(body AS BLOB)) AS bytes FROM records
       WHERE session = ? AND version >= ? ORDER BY version LIMIT ?`,
      head.id,
      log.expected,
      PAGE,
    )
    for (const row of rows) {
      log.see(
        int(row, 'version'),
        int(row, 'bytes'),
        () => fromStored(context.seal, head.tenant, row['body'] as Stored, text(row, 'sum')),
        (index, key) => isFound(db, context, head.tenant, int(row, 'id'), index, key),
      )
    }
    if (rows.length < PAGE) return log.end()
  }
}

function isFound(
  db: SqliteDatabase,
  context: Context,
  tenant: string,
  record: number,
  index: LookupIndex,
  key: string,
): boolean {
  const { table, column } = LOOKUPS[index]
  const rows = db.all(
    `SELECT 1 FROM ${table} i JOIN tenants t ON t.id = i.tenant WHERE t.name = ? AND i.${column} = ? AND i.record = ?`,
    tenant,
    context.seal.blind(tenant, key),
    record,
  )
  return rows.length === 1
}

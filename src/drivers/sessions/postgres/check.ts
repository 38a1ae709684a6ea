import type { StoreProblem } from '../../../ports/store-maintenance.ts'
import type { Queries } from '../../postgres/connection.ts'
import {
  HOMELESS,
  homelessProblem,
  LOOKUPS,
  logCheck,
  orphanProblem,
  orphansIn,
  sessionHeads,
  type CheckedHead,
} from '../log-check.ts'
import { fromStored } from '../record-text.ts'
import { int, text, type Row } from '../rows.ts'
import { fromColumn } from './context.ts'
import type { Context } from './context.ts'
import { bytesOf } from './log.ts'

const PAGE = 256
const DERIVED = ['epochs', 'undos', 'edits', 'edit_firsts', 'items', 'words']

/** Reads every record once and compares the lookups with the logs. Runs in one snapshot, so live writers do not disturb it. */
export async function check(queries: Queries, context: Context): Promise<StoreProblem[]> {
  const problems: StoreProblem[] = []
  for (const row of await queries.query(sessionHeads((column) => column))) {
    const log = await checkLog(queries, context, {
      id: int(row, 'id'),
      tenant: text(row, 'tenant'),
      name: text(row, 'name'),
      version: int(row, 'version'),
      bytes: int(row, 'bytes'),
    })
    problems.push(...log)
  }
  for (const table of DERIVED) {
    const rows = await queries.query(orphansIn(table))
    problems.push(...rows.map((row) => orphanProblem(table, int(row, 'record'))))
  }
  return [...problems, ...(await queries.query(HOMELESS)).map((row) => homelessProblem(int(row, 'id')))]
}

async function checkLog(queries: Queries, context: Context, head: CheckedHead): Promise<readonly StoreProblem[]> {
  const { seal } = context
  const log = logCheck(head)
  for (;;) {
    const rows = await queries.query(
      'SELECT id, version, body, sum FROM records WHERE session = $1 AND version >= $2 ORDER BY version LIMIT $3',
      [head.id, log.expected, PAGE],
    )
    const indexed = await lookupsOf(queries, rows)
    for (const row of rows) {
      const body = text(row, 'body')
      log.see(
        int(row, 'version'),
        bytesOf(context, body),
        () => fromStored(seal, head.tenant, fromColumn(seal, body), text(row, 'sum')),
        (index, key) => indexed.has(`${index} ${int(row, 'id')} ${seal.blind(head.tenant, key)}`),
      )
    }
    if (rows.length < PAGE) return log.end()
  }
}

/** What the lookups hold about a page of records: one query per table instead of one per record. */
async function lookupsOf(queries: Queries, rows: readonly Row[]): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  for (const [index, { table, column }] of Object.entries(LOOKUPS)) {
    const entries = await queries.query(
      `SELECT i.record, i.${column} AS key FROM ${table} i JOIN records r ON r.id = i.record AND r.session = i.session
       WHERE i.session = (SELECT session FROM records WHERE id = $1) AND i.record BETWEEN $1 AND $2`,
      [rows[0]?.['id'] ?? 0, rows.at(-1)?.['id'] ?? 0],
    )
    for (const entry of entries) found.add(`${index} ${int(entry, 'record')} ${text(entry, 'key')}`)
  }
  return found
}

import type { StoreProblem } from '../../../ports/store-maintenance.ts'
import type { Queries, Row } from '../../postgres/connection.ts'
import { keyOf } from '../record-keys.ts'
import { fromStored } from '../record-text.ts'
import { fromColumn, int, text } from './context.ts'
import type { Context } from './context.ts'
import { bytesOf } from './log.ts'

const PAGE = 256
const LOOKUPS = {
  epoch: ['epochs', 'cover'],
  undo: ['undos', 'epoch'],
  edit: ['edits', 'key'],
  item: ['items', 'identity'],
} as const

interface Head {
  readonly id: number
  readonly name: string
  readonly version: number
  readonly bytes: number
}

/** Reads every record once and compares the lookups with the logs. Runs in one snapshot, so live writers do not disturb it. */
export async function check(queries: Queries, context: Context): Promise<StoreProblem[]> {
  const problems: StoreProblem[] = []
  const sessions = await queries.query(
    'SELECT s.id, s.name, s.version, s.bytes, t.name AS tenant FROM sessions s JOIN tenants t ON t.id = s.tenant ORDER BY s.id',
  )
  for (const row of sessions) {
    const head = { id: int(row, 'id'), name: text(row, 'name'), version: int(row, 'version'), bytes: int(row, 'bytes') }
    problems.push(...(await checkSession(queries, context, text(row, 'tenant'), head)))
  }
  return [...problems, ...(await orphans(queries))]
}

async function checkSession(queries: Queries, context: Context, tenant: string, head: Head): Promise<StoreProblem[]> {
  const problems: StoreProblem[] = []
  const say = (kind: StoreProblem['kind'], version: number, message: string): void => {
    problems.push({ kind, tenant, session: head.name, version, message })
  }
  let expected = 1
  let bytes = 0
  for (;;) {
    const rows = await queries.query(
      'SELECT id, version, body, sum FROM records WHERE session = $1 AND version >= $2 ORDER BY version LIMIT $3',
      [head.id, expected, PAGE],
    )
    const indexed = await lookupsOf(queries, rows)
    for (const row of rows) {
      const version = int(row, 'version')
      if (version > expected) say('gap', expected, `Versions ${expected} to ${version - 1} are missing.`)
      expected = version + 1
      bytes += bytesOf(context, text(row, 'body'))
      try {
        const key = keyOf(
          fromStored(context.seal, tenant, fromColumn(context.seal, text(row, 'body')), text(row, 'sum')),
        )
        if (key === undefined) continue
        const value = { epoch: 'cover', undo: 'id', edit: 'key', item: 'identity' }[key.index]
        const wanted = context.seal.blind(tenant, String((key as unknown as Record<string, unknown>)[value]))
        if (!indexed.has(`${key.index} ${int(row, 'id')} ${wanted}`)) {
          say('index', version, `The record is not in the lookup of ${LOOKUPS[key.index][0]}.`)
        }
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

async function lookupsOf(queries: Queries, rows: readonly Row[]): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  for (const [index, [table, column]] of Object.entries(LOOKUPS)) {
    const entries = await queries.query(
      `SELECT i.record, i.${column} AS key FROM ${table} i JOIN records r ON r.id = i.record AND r.session = i.session
       WHERE i.session = (SELECT session FROM records WHERE id = $1) AND i.record BETWEEN $1 AND $2`,
      [rows[0]?.['id'] ?? 0, rows.at(-1)?.['id'] ?? 0],
    )
    for (const entry of entries) found.add(`${index} ${int(entry, 'record')} ${text(entry, 'key')}`)
  }
  return found
}

async function orphans(queries: Queries): Promise<StoreProblem[]> {
  const messages: string[] = []
  for (const table of ['epochs', 'undos', 'edits', 'edit_firsts', 'items', 'words']) {
    const rows = await queries.query(
      `SELECT i.record FROM ${table} i LEFT JOIN records r ON r.id = i.record AND r.session = i.session WHERE r.id IS NULL LIMIT 100`,
    )
    messages.push(
      ...rows.map((row) => `The lookup of ${table} points at record ${int(row, 'record')}, which is not there.`),
    )
  }
  const homeless = await queries.query(
    'SELECT r.id FROM records r LEFT JOIN sessions s ON s.id = r.session WHERE s.id IS NULL LIMIT 100',
  )
  messages.push(...homeless.map((row) => `Record ${int(row, 'id')} belongs to no session.`))
  return messages.map((message) => ({ kind: 'index', message }))
}

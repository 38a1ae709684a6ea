import { messageOf } from '../../core/values.ts'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { RE2JS } from 're2js'
import { BoundedMap } from '../../util/bounded-map.ts'
import { READY } from './guarded-worker.ts'
import { type Records, recordsOf } from './records.ts'
import type { SqlRequest, SqlResult, SqlSource, SqlTable, SqlValue } from '../../ports/sql-engine.ts'

/** The part of sql.js that is used here; the package brings no types. */
interface SqlStatement {
  step(): boolean
  get(): (string | number | Uint8Array | null)[]
  getColumnNames(): string[]
  run(values: readonly (string | number | null)[]): void
  free(): boolean
}

interface SqlDatabase {
  run(sql: string): unknown
  prepare(sql: string): SqlStatement
  iterateStatements(sql: string): { next(): { done?: boolean; value: SqlStatement }; getRemainingSQL(): string }
  create_function(name: string, compute: (...args: never[]) => unknown): unknown
  create_aggregate<S>(
    name: string,
    functions: { init: () => S; step: (state: S, ...args: never[]) => S; finalize: (state: S) => unknown },
  ): unknown
  close(): void
}

interface SqlModule {
  readonly Database: new () => SqlDatabase
}

type InitSqlJs = (options: { locateFile: (name: string) => string }) => Promise<SqlModule>

type SqlArgument = string | number | null

/** A query could build a new pattern for every row. */
const MAX_PATTERNS = 100

/** What aggregate questions need and SQLite lacks. */
function addFunctions(database: SqlDatabase): void {
  database.create_aggregate('percentile', {
    init: (): number[] => [],
    step: (state: number[], value: unknown, percent: unknown) => {
      if (state.length === 0) state.push(Number(percent))
      if (typeof value === 'number') state.push(value)
      return state
    },
    finalize: ([percent = 50, ...values]: number[]) => percentile(values, percent),
  })
  database.create_aggregate('stddev', {
    init: () => ({ count: 0, mean: 0, squares: 0 }),
    step: (state: { count: number; mean: number; squares: number }, value: unknown) => {
      if (typeof value !== 'number') return state
      // Welford: a sum of squares would lose the digits that matter when the mean is large.
      const count = state.count + 1
      const mean = state.mean + (value - state.mean) / count
      return { count, mean, squares: state.squares + (value - state.mean) * (value - mean) }
    },
    finalize: ({ count, squares }: { count: number; squares: number }) =>
      count < 2 ? null : Math.sqrt(squares / (count - 1)),
  })
  const compiled = new BoundedMap<string, RE2JS>(MAX_PATTERNS)
  const regex = (pattern: SqlArgument): RE2JS => {
    const found = compiled.get(String(pattern)) ?? RE2JS.compile(String(pattern))
    compiled.set(String(pattern), found)
    return found
  }
  // SQLite calls `regexp(pattern, text)` for `text REGEXP pattern`.
  database.create_function('regexp', (pattern: SqlArgument, text: SqlArgument) =>
    text === null ? null : Number(regex(pattern).test(String(text))),
  )
  const extract = (text: SqlArgument, pattern: SqlArgument, group: number): string | null => {
    if (text === null) return null
    const matcher = regex(pattern).matcher(String(text))
    return matcher.find() ? (matcher.group(group) ?? null) : null
  }
  // The number of parameters tells SQLite which of the two is meant.
  database.create_function('regexp_extract', (text: SqlArgument, pattern: SqlArgument) => extract(text, pattern, 0))
  database.create_function('regexp_extract', (text: SqlArgument, pattern: SqlArgument, group: number) =>
    extract(text, pattern, group),
  )
  for (const [name, compute] of Object.entries({ ln: Math.log, exp: Math.exp, log2: Math.log2 })) {
    database.create_function(name, (value: unknown) => (typeof value === 'number' ? compute(value) : null))
  }
}

/** Linear interpolation between the two nearest, as in SQLite's own extension and in PERCENTILE_CONT. */
function percentile(values: readonly number[], percent: number): number | null {
  if (values.length === 0) return null
  const sorted = Float64Array.from(values).sort()
  const place = (Math.min(100, Math.max(0, percent)) / 100) * (sorted.length - 1)
  const below = sorted[Math.floor(place)] ?? 0
  const above = sorted[Math.ceil(place)] ?? below
  return below + (above - below) * (place - Math.floor(place))
}

export interface SqljsWorkerData {
  readonly modulePath: string
  readonly memoryBytes: number
}

/** Reads only. `WITH` can begin a write, which `query_only` refuses. */
const READS = /^(?:select|with|values|explain)\b/i
const TEXT_LIMIT = 4_000
/** Characters of all cells together that are handed on; more rows are counted and not kept. */
const COLLECTED = 4 * 2 ** 20

const { modulePath, memoryBytes } = workerData as SqljsWorkerData
const initSqlJs = createRequire(import.meta.url)(modulePath) as InitSqlJs
const engine = await initSqlJs({ locateFile: (name) => join(dirname(modulePath), name) })

function query(request: SqlRequest): SqlResult {
  const tables: SqlTable[] = []
  const database = new engine.Database()
  try {
    // Sorting would otherwise spill into files that no limit counts. The limit holds for all and can only be lowered.
    database.run(`PRAGMA temp_store = MEMORY; PRAGMA journal_mode = OFF; PRAGMA hard_heap_limit = ${memoryBytes}`)
    addFunctions(database)
    for (const source of request.sources) tables.push(fill(database, source))
    database.run('PRAGMA query_only = ON')
    return { ok: true, tables, ...select(database, request) }
  } catch (error) {
    return { ok: false, columns: [], rows: [], totalRows: 0, tables, error: explain(error) }
  } finally {
    database.close()
  }
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

function fill(database: SqlDatabase, source: SqlSource): SqlTable {
  const records = recordsOf(new TextDecoder().decode(source.bytes), source.path)
  const columns = records.columns.length === 0 ? ['value'] : records.columns
  database.run(`CREATE TABLE ${quoted(source.table)} (${columns.map(quoted).join(', ')})`)
  const insert = database.prepare(`INSERT INTO ${quoted(source.table)} VALUES (${columns.map(() => '?').join(', ')})`)
  database.run('BEGIN')
  for (const row of records.rows) insert.run(columns.map((_, i) => row[i] ?? null))
  database.run('COMMIT')
  insert.free()
  return {
    table: source.table,
    format: records.format,
    rows: records.rows.length,
    columns: columns.map((name, i) => ({ name, type: typeOf(records, i) })),
    path: records.path,
  }
}

function typeOf({ rows }: Records, column: number): string {
  const types = new Set(
    rows
      .slice(0, 1000)
      .map((row) => row[column] ?? null)
      .map((cell) =>
        cell === null ? 'null' : typeof cell === 'number' ? 'number' : /^[[{]/.test(cell) ? 'json' : 'text',
      ),
  )
  types.delete('null')
  return [...types].sort().join('|') || 'null'
}

function select(
  database: SqlDatabase,
  { sql, maxRows }: SqlRequest,
): Pick<SqlResult, 'columns' | 'rows' | 'totalRows'> {
  const bare = withoutComments(sql)
  if (!READS.test(bare)) throw new Error('Only one SELECT, WITH, VALUES or EXPLAIN statement can run here.')
  const statements = database.iterateStatements(sql)
  const { done, value: statement } = statements.next()
  if (done === true) throw new Error('There is no statement.')
  if (withoutComments(statements.getRemainingSQL()) !== '') throw new Error('Only one statement can run at a time.')
  try {
    return collect(statement, maxRows)
  } finally {
    statement.free()
  }
}

function collect(statement: SqlStatement, maxRows: number): Pick<SqlResult, 'columns' | 'rows' | 'totalRows'> {
  const rows: SqlValue[][] = []
  let totalRows = 0
  let characters = 0
  let columns: string[] = []
  while (statement.step()) {
    if (totalRows++ === 0) columns = statement.getColumnNames()
    if (rows.length >= maxRows || characters >= COLLECTED) continue
    const row = statement.get().map(shown)
    for (const cell of row) characters += typeof cell === 'string' ? cell.length : 8
    rows.push(row)
  }
  if (totalRows === 0) columns = statement.getColumnNames()
  return { columns, rows, totalRows }
}

function shown(value: string | number | Uint8Array | null): SqlValue {
  if (value instanceof Uint8Array) return `x'${Buffer.from(value.subarray(0, 100)).toString('hex')}'`
  return typeof value === 'string' && value.length > TEXT_LIMIT ? value.slice(0, TEXT_LIMIT) : value
}

const withoutComments = (sql: string): string => sql.replace(/^(?:\s|;|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)+/, '').trim()

function explain(error: unknown): string {
  const message = messageOf(error)
  if (/out of memory|memory access|allocation/i.test(message))
    return `The query needed more than ${Math.round(memoryBytes / 2 ** 20)} MiB of memory and was stopped.`
  if (/readonly database/.test(message)) return 'Artifacts cannot be changed: only reading statements run here.'
  return message.slice(0, 1000)
}

parentPort?.postMessage(READY, [])
parentPort?.on('message', (request: SqlRequest) => parentPort?.postMessage(query(request), []))

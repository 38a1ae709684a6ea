import { PlimsollError } from '../../core/errors.ts'
import { readBytes } from './lines.ts'
import { byteLength, grouped } from '../intake/text.ts'
import { badInput, cutBytes, type Reader, type ReaderAnswer } from './reader.ts'
import type { ArtifactStat } from '../../ports/artifact-store.ts'
import type { SqlEngine, SqlResult, SqlTable, SqlValue } from '../../ports/sql-engine.ts'

export interface QueryRequest extends InputRequest {
  /** One reading statement of SQLite. The artifact is table `t`, those of `also` are `t2`, `t3`. Without it: the tables. */
  readonly sql?: string
  /** The way to the array of records inside a JSON object, as in `result.items`. @default found by itself */
  readonly path?: string
}

export interface QueryLimits {
  /** @default 10_000 */
  readonly timeoutMs?: number
  /** Of all artifacts of one query together. @default 128 MiB */
  readonly maxInputBytes?: number
}

/** More rows than any answer has room for. */
const MAX_ROWS = 2000
const FOOTER_BYTES = 160
const MAX_CELL_BYTES = 2000

/** SQL over the records of an artifact: JSON, JSON lines, CSV, log lines. */
export async function artifactQuery(
  reader: Reader,
  engine: SqlEngine | undefined,
  request: QueryRequest,
  limits: QueryLimits = {},
): Promise<ReaderAnswer> {
  if (engine === undefined) {
    throw new PlimsollError('unsupported', 'No SQL engine is set up here.', {
      advice: 'Use artifact_grep, artifact_read or artifact_run.',
    })
  }
  const { timeoutMs = 10_000, maxInputBytes = 128 * 2 ** 20 } = limits
  const inputs = await loadInputs(reader, request, maxInputBytes)
  const path = pathOf(request.path)
  const sources = inputs.map(({ bytes }, i) => ({
    table: i === 0 ? 't' : `t${i + 1}`,
    bytes,
    path: path.length > 0 ? path : undefined,
  }))
  const handles = inputs.map(({ stat }) => stat.handle)
  const result = await engine.query({
    sql: request.sql ?? 'SELECT 1',
    sources,
    timeoutMs,
    maxRows: MAX_ROWS,
    owner: reader.tenant,
    signal: reader.signal,
  })
  const room = reader.room(handles.length)
  if (!result.ok)
    return reader.answer(`The query failed: ${result.error}\n${schemaOf(result.tables)}`, handles, false, false)
  if (request.sql === undefined) return reader.answer(schemaOf(result.tables), handles, false)
  const { text, truncated } = rowsWithin(result, room - FOOTER_BYTES)
  return reader.answer(text, handles, truncated)
}

function schemaOf(tables: readonly SqlTable[]): string {
  return tables
    .map(({ table, format, path, rows, columns }) => {
      const from = path === undefined ? '' : ` at ${path}`
      return `table ${table}: ${grouped(rows)} rows of ${format}${from}, columns ${columns.map(({ name, type }) => `${name} ${type}`).join(', ')}`
    })
    .join('\n')
}

/** CSV with a header: the densest form that a model reads without mistakes. */
function rowsWithin({ columns, rows, totalRows }: SqlResult, room: number): { text: string; truncated: boolean } {
  const lines = [columns.map(cellText).join(',')]
  let used = byteLength(lines[0] ?? '')
  for (const row of rows) {
    const line = row.map(cellText).join(',')
    if (used + byteLength(line) + 1 > room) break
    used += byteLength(line) + 1
    lines.push(line)
  }
  const shown = lines.length - 1
  if (shown === totalRows) return { text: lines.join('\n'), truncated: false }
  const note = `[shown ${grouped(shown)} of ${grouped(totalRows)} rows; aggregate, choose fewer columns, or use LIMIT ... OFFSET ${shown}]`
  return { text: `${lines.join('\n')}\n${note}`, truncated: true }
}

function cellText(value: SqlValue): string {
  if (value === null) return 'NULL'
  if (typeof value === 'number') return String(value)
  const cut = cutBytes(value, MAX_CELL_BYTES)
  const text = cut === value ? value : `${cut}...`
  return text === '' || text === 'NULL' || /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** One artifact, or several that are looked at together. */
export interface InputRequest {
  readonly handle: string
  /** Further artifacts, in order. */
  readonly also?: readonly string[]
}

export interface Input {
  readonly stat: ArtifactStat
  readonly bytes: Uint8Array
}

const MAX_INPUTS = 8

/** Whole artifacts for an engine that needs all of them in memory, as long as they are not too large for it together. */
export async function loadInputs(
  reader: Reader,
  { handle, also = [] }: InputRequest,
  maxBytes: number,
): Promise<Input[]> {
  const handles = [...new Set([handle, ...also])]
  if (handles.length > MAX_INPUTS) throw badInput(`${handles.length} artifacts were named; ${MAX_INPUTS} is the most.`)
  const stats = await Promise.all(handles.map(async (each) => reader.find(each)))
  const total = stats.reduce((sum, { bytes }) => sum + bytes, 0)
  const advice = 'Use artifact_grep, or artifact_read by lines or bytes, which have no such limit.'
  if (total > maxBytes)
    throw badInput(`The artifacts have ${grouped(total)} bytes; ${grouped(maxBytes)} can be loaded at once.`, advice)
  return Promise.all(stats.map(async (stat) => ({ stat, bytes: await readBytes(reader, stat, 0, stat.bytes) })))
}

/** `result.items[0].rows`, `/result/items` and `$.result.items` all mean what they seem to. */
export function pathOf(path: string | undefined): string[] {
  if (path === undefined || path === '') return []
  if (path.startsWith('/'))
    return path
      .slice(1)
      .split('/')
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  return path
    .replace(/^\$\.?/, '')
    .split(/[.[\]]+/)
    .filter((part) => part !== '')
    .map((part) => part.replace(/^(['"])(.*)\1$/, '$2'))
}

import { isRecord, parsedJson } from '../../core/values.ts'

const SEPARATORS = [',', '\t', ';', '|']
const SAMPLE_LINES = 20
const SAMPLE_CHARACTERS = 64_000

/** The separator when the first lines all have the same number of cells, two or more; undefined when this is no table. */
function separatorOf(text: string): string | undefined {
  const sample = text.slice(0, SAMPLE_CHARACTERS)
  for (const separator of SEPARATORS) {
    const rows = parseCsv(sample, separator, SAMPLE_LINES + 1)
    // The last row of a sample may be cut.
    const whole = rows.length > SAMPLE_LINES || sample.length < text.length ? rows.slice(0, -1) : rows
    const [head = []] = whole
    if (head.length < 2 || whole.length < 2 || !head.every(isColumnName)) continue
    if (whole.every((row) => row.length === head.length)) return separator
  }
  return undefined
}

/** Times and numbers in the first line are data: lines of a log may all have the same number of commas. */
const isColumnName = (cell: string): boolean => cell.length <= 100 && !/\d\d:\d\d|^[\d.+-]+$/.test(cell)

/** RFC 4180, with any separator and line end; blank lines are left out. */
function parseCsv(text: string, separator: string, maxRows = Infinity): string[][] {
  const rows: string[][] = []
  let row: string[] = []
  let at = 0
  while (at < text.length && rows.length < maxRows) {
    const cell = text[at] === '"' ? quotedCell(text, at, separator) : plainCell(text, at, separator)
    row.push(cell.value)
    at = cell.end
    if (text[at] === separator) {
      at++
      if (at < text.length) continue
      row.push('')
    }
    if (text[at] === '\r') at++
    if (text[at] === '\n') at++
    if (row.length > 1 || row[0] !== '') rows.push(row)
    row = []
  }
  return rows
}

function plainCell(text: string, start: number, separator: string): { value: string; end: number } {
  let end = start
  while (end < text.length && text[end] !== separator && text[end] !== '\n') end++
  if (text[end] !== separator && text[end - 1] === '\r' && end > start) end--
  return { value: text.slice(start, end), end }
}

function quotedCell(text: string, start: number, separator: string): { value: string; end: number } {
  let end = start + 1
  for (;;) {
    const quote = text.indexOf('"', end)
    if (quote === -1) return { value: text.slice(start + 1).replaceAll('""', '"'), end: text.length }
    if (text[quote + 1] !== '"') {
      // Text after the closing quote belongs to the cell: `"a"b` is broken, not two cells.
      let after = quote + 1
      while (after < text.length && text[after] !== separator && text[after] !== '\r' && text[after] !== '\n') after++
      return { value: text.slice(start + 1, quote).replaceAll('""', '"') + text.slice(quote + 1, after), end: after }
    }
    end = quote + 2
  }
}

export type Cell = string | number | null

/** Text as a table: what SQL sees of an artifact. */
export interface Records {
  readonly format: 'json' | 'ndjson' | 'csv' | 'tsv' | 'lines'
  readonly path?: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly Cell[])[]
}

/** More columns than any query names; SQLite itself stops at 2,000. */
const MAX_COLUMNS = 500
const MAX_SEARCH_DEPTH = 3

/** Tries the forms from the strictest to the loosest; any text is at least lines. */
export function recordsOf(text: string, path: readonly string[] = []): Records {
  const begin = text.slice(0, 1000).trimStart()[0]
  if (begin === '[' || begin === '{') {
    const json = parsedJson(text)
    if (json !== undefined) return fromJson(json, path)
    const lines = jsonLines(text)
    if (lines !== undefined) return tableOf('ndjson', lines)
  }
  const separator = separatorOf(text)
  if (separator !== undefined) return fromCsv(text, separator)
  return fromLines(text)
}

/** Undefined when more than a tenth of the lines are not JSON: a log that mentions some. */
function jsonLines(text: string): unknown[] | undefined {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const values: unknown[] = []
  let odd = 0
  for (const line of lines) {
    const parsed = parsedJson(line)
    if (parsed !== undefined) values.push(parsed)
    else if (++odd > lines.length / 10) return undefined
    else values.push({ _unparsed: line })
  }
  return values
}

function fromJson(root: unknown, path: readonly string[]): Records {
  let value = root
  for (const part of path) value = (value as Record<string, unknown> | undefined)?.[part]
  if (Array.isArray(value)) return tableOf('json', value, path.join('.'))
  if (path.length > 0) return tableOf('json', value === undefined ? [] : [value], path.join('.'))
  const found = isRecord(value) ? largestArray(value, [], 0) : undefined
  return found === undefined ? tableOf('json', [value]) : tableOf('json', found.array, found.path.join('.'))
}

/** APIs wrap their records in an envelope: `{ result: { items: [...] } }`. */
function largestArray(
  value: Record<string, unknown>,
  path: readonly string[],
  depth: number,
): { array: unknown[]; path: string[] } | undefined {
  let best: { array: unknown[]; path: string[] } | undefined
  for (const [key, child] of Object.entries(value)) {
    const found = Array.isArray(child)
      ? { array: child as unknown[], path: [...path, key] }
      : isRecord(child) && depth < MAX_SEARCH_DEPTH
        ? largestArray(child, [...path, key], depth + 1)
        : undefined
    if (found !== undefined && isRecord(found.array[0]) && found.array.length > (best?.array.length ?? 0)) best = found
  }
  return best
}

function tableOf(format: 'json' | 'ndjson', values: readonly unknown[], path = ''): Records {
  const columns = new Map<string, number>()
  const rows = values.map((value) => {
    const row: Cell[] = []
    const fields = isRecord(value)
      ? Object.entries(value)
      : Array.isArray(value)
        ? value.map((cell, i) => [`c${i}`, cell] as const)
        : [['value', value] as const]
    for (const [name, field] of fields) {
      let index = columns.get(name)
      if (index === undefined) {
        if (columns.size === MAX_COLUMNS) continue
        columns.set(name, (index = columns.size))
      }
      row[index] = cellOf(field)
    }
    return row
  })
  return { format, columns: [...columns.keys()], rows, path: path === '' ? undefined : path }
}

/** What SQLite can hold; the rest stays JSON for its `->>` operator. */
function cellOf(value: unknown): Cell {
  if (typeof value === 'string' || typeof value === 'number') return value
  if (typeof value === 'boolean') return value ? 1 : 0
  return value === null || value === undefined ? null : JSON.stringify(value)
}

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/
/** Codes such as 007 and numbers beyond 2^53 would change as numbers. */
const NOT_NUMERIC = /^[+-]?0\d|^[+-]?\d{16,}$/

function fromCsv(text: string, separator: string): Records {
  const [head = [], ...body] = parseCsv(text, separator)
  const columns = uniqueNames(head)
  const numeric = columns.map((_, i) => body.every((row) => isNumeric(row[i] ?? '')))
  const rows = body.map((row) =>
    columns.map((_, i): Cell => {
      const cell = row[i] ?? ''
      return cell === '' ? null : numeric[i] === true ? Number(cell) : cell
    }),
  )
  return { format: separator === '\t' ? 'tsv' : 'csv', columns, rows }
}

const isNumeric = (cell: string): boolean => cell === '' || (NUMBER.test(cell) && !NOT_NUMERIC.test(cell))

function uniqueNames(names: readonly string[]): string[] {
  const seen = new Set<string>()
  return names.slice(0, MAX_COLUMNS).map((name, i) => {
    let unique = name.trim() === '' ? `c${i}` : name.trim()
    while (seen.has(unique.toLowerCase())) unique += '_'
    seen.add(unique.toLowerCase())
    return unique
  })
}

const TIME =
  /\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?|\b[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d\b|\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d(?: [+-]\d{4})?/
const LEVEL = /\b(TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|ERR|CRIT(?:ICAL)?|FATAL|ALERT|EMERG|PANIC)\b/i

/** Log lines, or any lines: a time and a level where the beginning shows them. */
function fromLines(text: string): Records {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  const rows = lines.map((line, i): Cell[] => {
    const shown = line.endsWith('\r') ? line.slice(0, -1) : line
    const beginning = shown.slice(0, 200)
    return [i + 1, TIME.exec(beginning)?.[0] ?? null, LEVEL.exec(beginning)?.[1]?.toUpperCase() ?? null, shown]
  })
  return { format: 'lines', columns: ['line', 'time', 'level', 'text'], rows }
}

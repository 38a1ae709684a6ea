import { Fields } from '../json/fields.ts'
import { counted, cutHead, grouped } from '../text.ts'
import { withinRoom } from './text.ts'
import type { BodyView, ViewInput } from '../types.ts'

interface Row {
  readonly start: number
  readonly end: number
}

const MAX_ROWS = 4_000
const MAX_COLUMNS = 200

/** What one pass over the rows found. */
interface Table {
  readonly header: Row | undefined
  readonly rows: number
  /** The first and the last rows. */
  readonly ends: readonly Row[]
  readonly fields: Fields
}

function readTable({ text, from, kind, format }: ViewInput): Table {
  const delimiter = kind === 'tsv' ? '\t' : format === 'semicolon' ? ';' : ','
  const hasHeader = format !== 'no-header'
  const fields = new Fields()
  const first: Row[] = []
  const last: Row[] = []
  let header: Row | undefined
  let names: readonly string[] = []
  let rows = 0
  eachRow(text, from, (row) => {
    const cells = cellsOf(text.slice(row.start, row.end), delimiter)
    if (names.length === 0) {
      names = (hasHeader ? cells : cells.map((_, i) => `column_${i + 1}`)).slice(0, MAX_COLUMNS)
      if (hasHeader) {
        header = row
        return
      }
    }
    if (first.length < MAX_ROWS) first.push(row)
    else last[rows % MAX_ROWS] = row
    rows++
    fields.add(Object.fromEntries(names.map((name, i) => [name, valueOf(cells[i] ?? '')])))
  })
  return { header, rows, ends: [...first, ...last.toSorted((a, b) => a.start - b.start)], fields }
}

/** Rows of a delimited file: header, whole rows from both ends, and statistics of every column over all rows. */
export function csvView(input: ViewInput): BodyView | undefined {
  const { text, from, clean } = input
  const { header, rows, ends, fields } = readTable(input)
  if (rows === 0) return undefined
  const report = fields
    .report()
    .map(({ path, text: description }) => `${path}: ${description}`.replaceAll('\n', ' '))
    .map(clean)
  const preamble = text.slice(0, from).trimEnd()
  const notes = [...(preamble === '' ? [] : clean(preamble).split('\n')), ...report]
  const piece = ({ start, end }: Row): string => clean(text.slice(start, end))

  return {
    syntax: 'csv',
    mode: 'template',
    template: 'generic',
    items: rows,
    render(chars) {
      const top = header === undefined || chars <= 0 ? '' : piece(header)
      const room = Math.floor(Math.max(0, chars - top.length) * 0.4)
      // Every column a little rather than the first ones in full.
      const widest = Math.max(48, Math.floor(room / Math.max(1, notes.length)) - 3)
      const stats = withinRoom(
        notes.map((line) => `# ${line.length > widest ? `${cutHead(line, widest)}…` : line}`),
        room,
      )
      const left = chars - top.length - stats.length
      const head = rowsWithin(ends, left * 0.65)
      const rest = ends.slice(head.length)
      const tail = rowsWithin(rest.toReversed(), left - lengthOf(head)).reverse()
      const ranges = [
        head.length > 0 ? `1-${grouped(head.length)}` : '',
        tail.length > 0 ? `${grouped(rows - tail.length + 1)}-${grouped(rows)}` : '',
      ].filter((range) => range !== '')
      const items = head.length + tail.length
      return {
        preface: stats !== '' ? stats : undefined,
        body: [top, ...[...head, ...tail].map(piece)].filter((line) => line !== '').join('\n'),
        holds: `${stats === '' ? '' : 'column statistics, '}header${ranges.length === 0 ? '' : `, rows ${ranges.join(' and ')}`} of ${grouped(rows)}`,
        leftOut: `${grouped(rows - items)} of ${counted(rows, 'row')}`,
        items,
        lines: items + 1,
      }
    },
  }
}

const lengthOf = (rows: readonly Row[]): number => rows.reduce((sum, { start, end }) => sum + end - start + 1, 0)

function rowsWithin(rows: readonly Row[], room: number): Row[] {
  let used = 0
  const beyond = rows.findIndex(({ start, end }) => (used += end - start + 1) > room)
  return rows.slice(0, beyond < 0 ? undefined : beyond)
}

/** Records, not lines: a quoted cell may hold line breaks. */
export function eachRow(text: string, from: number, visit: (row: Row) => void): void {
  let start = from
  let at = from
  let unclosed = 0
  let quote = -1
  while (start < text.length) {
    const newline = text.indexOf('\n', at)
    // Looked up again only when passed: a file without quotes would otherwise be searched to its end once per row.
    if (quote < at && quote !== NONE) quote = unclosed < MAX_UNCLOSED ? text.indexOf('"', at) : -1
    if (quote < 0) quote = NONE
    if (quote !== NONE && (newline < 0 || quote < newline)) {
      const close = closingQuote(text, quote)
      if (close < 0) unclosed++
      // An unclosed quote is an ordinary character: otherwise the rest of the file would be one row.
      at = close < 0 ? (newline < 0 ? text.length : newline) : close + 1
      if (close >= 0) continue
    } else at = newline < 0 ? text.length : newline
    const end = at > start && text.charCodeAt(at - 1) === 13 ? at - 1 : at
    if (end > start) visit({ start, end })
    start = at = at + 1
  }
}

const NONE = Infinity
const MAX_QUOTED = 262_144
/** So many quotes without an end: the file does not quote, it has inches or apostrophes. */
const MAX_UNCLOSED = 16

function closingQuote(text: string, open: number): number {
  let at = text.indexOf('"', open + 1)
  while (at >= 0 && at - open < MAX_QUOTED) {
    if (text.charCodeAt(at + 1) !== 34) return at
    at = text.indexOf('"', at + 2)
  }
  return -1
}

export function cellsOf(row: string, delimiter: string): string[] {
  if (!row.includes('"')) return row.split(delimiter)
  const cells: string[] = []
  let at = 0
  while (at <= row.length && cells.length < 10_000) {
    if (row.charCodeAt(at) === 34) {
      const close = closingQuote(row, at)
      const end = close < 0 ? row.length : close
      cells.push(row.slice(at + 1, end).replaceAll('""', '"'))
      const next = row.indexOf(delimiter, end + 1)
      if (next < 0) break
      at = next + 1
    } else {
      const next = row.indexOf(delimiter, at)
      cells.push(row.slice(at, next < 0 ? row.length : next))
      if (next < 0) break
      at = next + 1
    }
  }
  return cells
}

const NUMBER = /^-?(?:\d+|\d*\.\d+)(?:[eE][+-]?\d+)?$/

/** A cell as a value: empty is missing, numbers are numbers. */
const valueOf = (cell: string): unknown => (cell === '' ? null : NUMBER.test(cell) ? Number(cell) : cell)

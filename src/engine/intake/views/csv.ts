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

/** Rows of a delimited file: header, whole rows from both ends, and statistics of every column over all rows. */
export function csvView(input: ViewInput): BodyView | undefined {
  const { text, from, kind, format, clean } = input
  const delimiter = kind === 'tsv' ? '\t' : format === 'semicolon' ? ';' : ','
  const hasHeader = format !== 'no-header'
  const fields = new Fields()
  const first: Row[] = []
  const last: Row[] = []
  let header: Row | undefined
  let names: readonly string[] = []
  let rows = 0
  eachRow(text, from, (row) => {
    if (names.length === 0) {
      const cells = cellsOf(text.slice(row.start, row.end), delimiter)
      names = (hasHeader ? cells : cells.map((_, i) => `column_${i + 1}`)).slice(0, MAX_COLUMNS)
      if (hasHeader) {
        header = row
        return
      }
    }
    if (first.length < MAX_ROWS) first.push(row)
    else last[rows % MAX_ROWS] = row
    rows++
    const values = valuesOf(cellsOf(text.slice(row.start, row.end), delimiter))
    fields.add(Object.fromEntries(names.map((name, i) => [name, values[i] ?? null])))
  })
  if (rows === 0) return undefined
  const ends = [...first, ...last.toSorted((a, b) => a.start - b.start)]
  const report = fields
    .report()
    .map(({ path, text: description }) => `${path}: ${description}`.replaceAll('\n', ' '))
    .map(clean)
  const preamble = text.slice(0, from).trimEnd()
  const piece = ({ start, end }: Row): string => clean(text.slice(start, end))

  return {
    syntax: 'csv',
    mode: 'template',
    template: 'generic',
    items: rows,
    render(chars) {
      const top = header === undefined || chars <= 0 ? '' : piece(header)
      const notes = [...(preamble === '' ? [] : clean(preamble).split('\n')), ...report]
      const room = Math.floor(Math.max(0, chars - top.length) * 0.4)
      // Every column a little rather than the first ones in full.
      const widest = Math.max(48, Math.floor(room / Math.max(1, notes.length)) - 3)
      const stats = withinRoom(
        notes.map((line) => `# ${line.length > widest ? `${cutHead(line, widest)}…` : line}`),
        room,
      )
      let left = chars - top.length - stats.length
      const take = (list: readonly Row[], room: number): number => {
        let used = 0
        let count = 0
        for (const { start, end } of list) {
          if (used + end - start + 1 > room) break
          used += end - start + 1
          count++
        }
        left -= used
        return count
      }
      const heads = take(ends, left * 0.65)
      const rest = ends.slice(heads)
      const tails = take(rest.toReversed(), left)
      const shown = [...ends.slice(0, heads), ...rest.slice(rest.length - tails)]
      const ranges = [
        heads > 0 ? `1-${grouped(heads)}` : '',
        tails > 0 ? `${grouped(rows - tails + 1)}-${grouped(rows)}` : '',
      ].filter((range) => range !== '')
      return {
        preface: stats !== '' ? stats : undefined,
        body: [top, ...shown.map(piece)].filter((line) => line !== '').join('\n'),
        holds: `${stats === '' ? '' : 'column statistics, '}header${ranges.length === 0 ? '' : `, rows ${ranges.join(' and ')}`} of ${grouped(rows)}`,
        leftOut: `${grouped(rows - heads - tails)} of ${counted(rows, 'row')}`,
        items: heads + tails,
        lines: heads + tails + 1,
      }
    },
  }
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

/** Cells as values: empty is missing, numbers are numbers. */
const valuesOf = (cells: readonly string[]): unknown[] =>
  cells.map((cell) => (cell === '' ? null : NUMBER.test(cell) ? Number(cell) : cell))

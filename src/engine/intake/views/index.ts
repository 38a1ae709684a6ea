import { type Inspected, magicOf, type Source } from '../classify.ts'
import { counted, grouped, cutHead, countLines } from '../text.ts'
import type { BodyView, ViewInput } from '../types.ts'
import { jsonLinesView, jsonView } from './json.ts'
import { logView } from '../logs/log-view.ts'
import { profileOf } from './profiles.ts'
import { textView, withinRoom } from './text.ts'
import { Fields } from '../json/fields.ts'

/** The best view for what an input is. Structured ones that turn out broken fall back to lines. */
export function chooseView(
  { source, classified, json }: Inspected,
  windowChars: number,
  clean: (text: string) => string,
): BodyView {
  if (source.encoding === 'binary') return binaryView(source)
  const { kind, format, preamble } = classified
  const input: ViewInput = {
    text: source.text,
    from: preamble,
    kind,
    format,
    windowChars: Math.max(4_000, windowChars),
    clean,
  }
  return structuredView(input, json) ?? textView(input, profileOf(kind === 'log' ? 'plain' : kind, format))
}

function structuredView(input: ViewInput, json: Inspected['json']): BodyView | undefined {
  if (json !== undefined) return jsonView(input, json)
  switch (input.kind) {
    case 'ndjson':
      return jsonLinesView(input)
    case 'log':
      return logView(input)
    case 'csv':
    case 'tsv':
      return csvView(input)
    case 'html':
      return htmlView(input)
    case 'xml':
      return xmlView(input)
    case 'base64':
      return base64View(input)
    default:
      return undefined
  }
}

const HEX_BYTES = 64

/** Bytes that are no text: what they are and how they begin. Never the bytes themselves. */
function binaryView(source: Extract<Source, { encoding: 'binary' }>): BodyView {
  const hexOf = (bytes: number): string => Buffer.from(source.data.subarray(0, bytes)).toString('hex')
  return {
    syntax: 'text',
    mode: 'description',
    render(chars) {
      // A hex digit is half a token or more.
      const shown = Math.min(HEX_BYTES, source.bytes, Math.floor((chars - source.mime.length - 30) / 4))
      const body =
        shown < 8 ? (chars >= 20 ? source.mime : '') : `${source.mime}; first ${shown} bytes: ${hexOf(shown)}`
      return { body, holds: 'type and first bytes', leftOut: counted(source.bytes, 'byte') }
    },
  }
}

/** Encoded bytes are noise to a model; what they decode to is the useful part. */
function base64View({ text, from, clean }: ViewInput): BodyView {
  const head = text
    .slice(from, from + 2_000)
    .replace(/^data:[^,]{0,100},/, '')
    .replace(/\s/g, '')
    .replaceAll('-', '+')
    .replaceAll('_', '/')
  const data = Buffer.from(head.slice(0, 1_024), 'base64')
  const chars = text.length - from
  const magic = magicOf(data)
  const printable = /^[\t\n\r -~]{40,}/.exec(data.toString('latin1'))?.[0]
  return {
    syntax: 'text',
    mode: 'description',
    render(room) {
      const parts = [
        `base64, about ${grouped(Math.floor((chars * 3) / 4))} bytes when decoded${magic === undefined ? '' : `, looks like ${magic.mime}`}`,
        ...(printable === undefined || room < 200
          ? []
          : [`decoded text begins: ${printable.slice(0, Math.min(400, room - 120))}`]),
        ...(room < 300 ? [] : [`begins: ${text.slice(from, from + 60)}… ends: …${text.trimEnd().slice(-30)}`]),
      ]
      return { body: room < 60 ? '' : clean(parts.join('\n')), holds: 'a description', leftOut: counted(chars, 'char') }
    },
  }
}

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
function csvView(input: ViewInput): BodyView | undefined {
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

/** A page as its text: scripts, styles and navigation out, headings and lists as Markdown. */
function htmlView(input: ViewInput): BodyView {
  const source = input.text.slice(input.from)
  const title = /<title[^>]{0,200}>([^<]{1,300})/i.exec(source.slice(0, 200_000))?.[1]?.trim()
  const page = pageText(mainPart(source))
  const view = textView({ ...input, text: page, from: 0 }, profileOf('html'))
  return {
    ...view,
    render(chars) {
      const head =
        title === undefined || chars < 80
          ? ''
          : `Title: ${input.clean(decodeEntities(title).slice(0, 160)).replaceAll('\n', ' ')}\n`
      const body = view.render(Math.max(0, chars - head.length))
      return {
        ...body,
        body: head + body.body,
        holds: `text of the page without markup, ${body.holds}`,
        leftOut: `${body.leftOut} of text, and all markup`,
      }
    },
  }
}

/** `<main>` or `<article>` when the page has one that is long enough to be the point of it. */
function mainPart(html: string): string {
  for (const tag of ['main', 'article']) {
    const open = html.search(new RegExp(`<${tag}[\\s>]`, 'i'))
    if (open < 0) continue
    const close = html.lastIndexOf(`</${tag}`)
    const part = html.slice(open, close > open ? close : html.length)
    if (part.length > 2_000) return part
  }
  return html
}

const SKIPPED = new Set(['script', 'style', 'noscript', 'svg', 'head', 'template', 'iframe', 'nav', 'footer'])
const BREAKS = new Set(
  'p div br tr table ul ol section article header blockquote pre hr form dl dt dd figure'.split(' '),
)

const MAX_PIECES = 20_000

/** One pass from tag to tag. A block whose end never comes is skipped to the end of the text only once. */
function pageText(html: string): string {
  const chunks: string[] = []
  let out: string[] = []
  const missing = new Set<string>()
  let at = 0
  while (at < html.length) {
    // Millions of small pieces weigh more than their text.
    if (out.length > MAX_PIECES) {
      chunks.push(tidy(decodeEntities(out.join(''))))
      out = []
    }
    const open = html.indexOf('<', at)
    if (open < 0) {
      out.push(html.slice(at))
      break
    }
    if (open > at) out.push(html.slice(at, open))
    if (html.startsWith('<!--', open)) {
      const end = html.indexOf('-->', open + 4)
      at = end < 0 ? html.length : end + 3
      continue
    }
    const close = html.indexOf('>', open + 1)
    if (close < 0) break
    const tag = /^<(\/?)([A-Za-z][A-Za-z0-9]*)/.exec(html.slice(open, open + 24))
    if (tag === null) {
      out.push('<')
      at = open + 1
      continue
    }
    at = close + 1
    const name = tag[2]!.toLowerCase()
    const ending = tag[1] === '/'
    if (!ending && SKIPPED.has(name) && html.charCodeAt(close - 1) !== 47 && !missing.has(name)) {
      const end = endOf(html, name, at)
      if (end < 0) missing.add(name)
      else at = end
      out.push('\n')
    } else out.push(markOf(name, ending))
  }
  chunks.push(tidy(decodeEntities(out.join(''))))
  return chunks.join('\n')
}

function endOf(html: string, name: string, from: number): number {
  const end = new RegExp(`</${name}\\s*>`, 'gi')
  end.lastIndex = from
  return end.exec(html) === null ? -1 : end.lastIndex
}

function markOf(name: string, ending: boolean): string {
  const heading = /^h([1-6])$/.exec(name)
  if (heading !== null) return ending ? '\n' : `\n\n${'#'.repeat(Number(heading[1]))} `
  if (name === 'li') return ending ? '' : '\n- '
  if (name === 'td' || name === 'th') return ending ? ' | ' : ''
  return BREAKS.has(name) ? '\n' : ''
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  mdash: '—',
  ndash: '–',
  hellip: '…',
  copy: '©',
  rsquo: '’',
  lsquo: '‘',
  rdquo: '”',
  ldquo: '“',
  middot: '·',
  times: '×',
}

function decodeEntities(text: string): string {
  return text.replace(
    /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi,
    (match, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined) return ENTITIES[name.toLowerCase()] ?? match
      const code = decimal === undefined ? Number.parseInt(hex!, 16) : Number(decimal)
      return code > 31 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : ' '
    },
  )
}

const tidy = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.replace(/[\t \u00a0]{2,}|\t/g, ' ').trim())
    .filter((line) => line !== '' && line !== '-' && line !== '|')
    .join('\n')
    // A heading or list item whose text stands in an element of its own.
    .replace(/^(#{1,6}|-)\n(?=[^#-])/gm, '$1 ')

/** XML by lines. A minified document is one line; a break between tags makes head and tail mean something. */
function xmlView(input: ViewInput): BodyView {
  const text = input.text.slice(input.from)
  const lines = countLines(text)
  const broken = text.length > 4_000 && text.length / lines > 800 ? text.replaceAll('><', '>\n<') : text
  return textView({ ...input, text: broken, from: 0 }, profileOf('plain'))
}

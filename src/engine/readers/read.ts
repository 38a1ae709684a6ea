import type { PlimsollError } from '../../core/errors.ts'
import {
  eachEntry,
  eachItem,
  isArrayAt,
  isObjectAt,
  keyText,
  skipSpace,
  skipValue,
  type Span,
} from '../../core/json/lexer.ts'
import { countLines, offsetOfLine, readBytes } from './lines.ts'
import { loadInputs, pathOf } from './query.ts'
import { byteLength, grouped } from '../intake/text.ts'
import { badInput, brokenBytes, cutBytes, type Reader, type ReaderAnswer, wholeCharacters } from './reader.ts'
import type { ArtifactStat } from '../../ports/artifact-store.ts'

export interface ReadRequest {
  readonly handle: string
  /** What `start` and `count` count. @default 'lines' */
  readonly unit?: 'lines' | 'bytes' | 'items'
  /** Lines count from 1, bytes and items from 0; negative counts from the end. @default the beginning */
  readonly start?: number
  /** At most so many; fewer when they do not fit. @default as many as fit */
  readonly count?: number
  /** Items: the way from the root to the array, as in `result.items`. @default the root */
  readonly path?: string
}

/** A log with a few broken bytes is still text; an image is not. */
const MAX_ODD_SHARE = 0.05
/** Room for the header and the closing hint beside the body. */
const HEADER_BYTES = 300

/** Gives back a part of an artifact, verbatim: lines, bytes, or elements of a JSON array or of JSON lines. */
export async function artifactRead(reader: Reader, request: ReadRequest): Promise<ReaderAnswer> {
  const { unit = 'lines', start, count } = request
  if (start !== undefined && !Number.isSafeInteger(start)) throw badNumber('start', start)
  if (count !== undefined && (!Number.isSafeInteger(count) || count < 1)) throw badNumber('count', count)
  if (unit === 'items') return readItems(reader, request)
  const stat = await reader.find(request.handle)
  if (unit === 'bytes') return readByteRange(reader, stat, start, count)
  if (unit !== 'lines') throw badInput(`unit is "lines", "bytes" or "items", not ${JSON.stringify(unit)}.`)
  return readLines(reader, stat, start, count)
}

const badNumber = (name: string, value: number): PlimsollError =>
  badInput(`${name} must be a whole number${name === 'count' ? ' from 1' : ''}; it is ${value}.`)

/** The first of `total` things that a request means, counted from `first`. */
function firstOf(start: number | undefined, total: number, first: number): number {
  if (start === undefined) return first
  return start < 0 ? Math.max(first, total + first + start) : Math.max(first, start)
}

async function readLines(reader: Reader, stat: ArtifactStat, start?: number, count = Infinity): Promise<ReaderAnswer> {
  const lines = await countLines(reader, stat)
  const first = firstOf(start, lines, 1)
  const size = `${grouped(lines)} lines, ${grouped(stat.bytes)} bytes`
  if (first > lines)
    return reader.answer(`${stat.handle} has ${size}; there is no line ${grouped(first)}.`, [stat.handle], false)
  const room = reader.room(1) - HEADER_BYTES
  const from = await offsetOfLine(reader, stat, first)
  const bytes = await readBytes(reader, stat, from, Math.min(from + room + 1, stat.bytes))
  const end = endOfLines(bytes, Math.min(count, lines - first + 1), from + bytes.length === stat.bytes, room)
  if (end.lines === 0) return readLongLine(reader, stat, first, from, bytes.subarray(0, room), size)
  const last = first + end.lines - 1
  const header = `${stat.handle} lines ${grouped(first)}-${grouped(last)} of ${size}`
  const more = last < lines
  const next = more ? `\n[more: start=${last + 1}]` : ''
  const body = textOf(bytes.subarray(0, end.bytes), from)
  if (body.used < end.bytes) return readByteRange(reader, stat, from, end.bytes)
  return reader.answer(
    `${header}${body.note}\n${body.text.replace(/\r?\n$/, '')}${next}`,
    [stat.handle],
    more && end.lines < count,
  )
}

/** Whole lines at the front of `bytes`, at most `count` of them, within `room`. */
function endOfLines(bytes: Uint8Array, count: number, isEnd: boolean, room: number): { lines: number; bytes: number } {
  let lines = 0
  let end = 0
  while (lines < count && end < bytes.length) {
    const newline = bytes.indexOf(10, end)
    const next = newline === -1 ? (isEnd ? bytes.length : Infinity) : newline + 1
    if (next > room) break
    end = next
    lines++
  }
  return { lines, bytes: end }
}

function readLongLine(
  reader: Reader,
  stat: ArtifactStat,
  line: number,
  from: number,
  bytes: Uint8Array,
  size: string,
): ReaderAnswer {
  const { text, used, note } = textOf(bytes, from)
  const header = `${stat.handle} line ${grouped(line)} of ${size}: longer than one answer, its beginning follows${note}`
  const next = `[more: unit="bytes" start=${from + used}, or unit="items" if it is JSON, or artifact_grep, artifact_query, artifact_run]`
  return reader.answer(`${header}\n${text}\n${next}`, [stat.handle], true)
}

async function readByteRange(
  reader: Reader,
  stat: ArtifactStat,
  start?: number,
  count = Infinity,
): Promise<ReaderAnswer> {
  const first = firstOf(start, stat.bytes, 0)
  const total = `${grouped(stat.bytes)} bytes`
  if (first >= stat.bytes)
    return reader.answer(`${stat.handle} has ${total}; byte ${grouped(first)} is beyond them.`, [stat.handle], false)
  const room = reader.room(1) - HEADER_BYTES
  const wanted = Math.min(count, stat.bytes - first)
  const bytes = await readBytes(reader, stat, first, first + Math.min(wanted, room))
  const { text, used, note, skipped } = textOf(bytes, first)
  const end = first + used
  const header = `${stat.handle} bytes ${grouped(first + skipped)}-${grouped(end)} of ${total}${note}`
  const more = end < stat.bytes
  return reader.answer(
    `${header}\n${text}${more ? `\n[more: unit="bytes" start=${end}]` : ''}`,
    [stat.handle],
    used < wanted,
  )
}

interface Shown {
  readonly text: string
  /** Bytes of the input that `text` stands for, skipped ones included. */
  readonly used: number
  /** Continuation bytes at the front that belong to a character before the range. */
  readonly skipped: number
  readonly note: string
}

/** Bytes as text where they are text, with no split characters; else base64 of as much as fits in their place. */
function textOf(bytes: Uint8Array, at: number): Shown {
  const skipped = at === 0 ? 0 : brokenBytes(bytes)
  const used = wholeCharacters(bytes)
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(skipped, used))
  const odd = text.split('\ufffd').length - 1
  // A range inside one character gives no text, and would never move on.
  if (!text.includes('\0') && odd <= text.length * MAX_ODD_SHARE && (text !== '' || bytes.length === 0)) {
    return { text, used, skipped, note: odd === 0 ? '' : `, ${odd} characters are not UTF-8 and shown as \ufffd` }
  }
  const fitting = bytes.subarray(0, Math.max(3, Math.floor((bytes.length * 3) / 4 / 3) * 3))
  return {
    text: Buffer.from(fitting).toString('base64'),
    used: fitting.length,
    skipped: 0,
    note: ', not UTF-8, shown as base64',
  }
}

function noItems(stat: ArtifactStat, { kind, keys }: Omit<FoundItems, 'each'>, path: readonly string[]): PlimsollError {
  const where = path.length === 0 ? 'The root' : path.join('.')
  const known = keys.length === 0 ? '' : ` Its keys are ${keys.map((key) => JSON.stringify(key)).join(', ')}.`
  const reason =
    kind === 'missing'
      ? `There is nothing at ${path.join('.')}.${known}`
      : kind === 'object'
        ? `${where} is an object.${known}`
        : 'It is not a JSON array and not JSON lines.'
  const advice =
    kind === 'object' || kind === 'missing'
      ? 'Name the array with path, as in "result.items".'
      : 'Read it by unit="lines" or unit="bytes".'
  return badInput(`${stat.handle} has no items to read. ${reason}`, advice)
}

/** Items are found in the whole text: of more, lines and bytes can still be read. */
const MOST_ITEM_BYTES = 128 * 2 ** 20

async function readItems(reader: Reader, request: ReadRequest): Promise<ReaderAnswer> {
  const path = pathOf(request.path)
  const [input] = await loadInputs(reader, { handle: request.handle }, MOST_ITEM_BYTES)
  const { stat, bytes } = input!
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
  const { each, ...found } = itemsIn(text, path)
  if (each === undefined) throw noItems(stat, found, path)
  let total = 0
  each(() => void total++)
  const first = firstOf(request.start, total, 0)
  const what = `${grouped(total)} items${path.length === 0 ? '' : ` of ${path.join('.')}`}`
  if (first >= total)
    return reader.answer(`${stat.handle} has ${what}; there is no item ${grouped(first)}.`, [stat.handle], false)
  const room = reader.room(1) - HEADER_BYTES
  const wanted = Math.min(total - first, request.count ?? Infinity)
  const shown: string[] = []
  let used = 0
  let long: Span | undefined
  each((start, end, index) => {
    if (index < first) return true
    const item = text.slice(start, end)
    used += byteLength(item) + 2
    if (used > room && shown.length === 0) long = { start, end }
    if (used > room) return false
    shown.push(item)
    return shown.length < wanted
  })
  if (long !== undefined) {
    const item = text.slice(long.start, long.end)
    const part = cutBytes(item, room)
    const header = `${stat.handle} item ${grouped(first)} of ${what} has ${grouped(byteLength(item))} bytes, its beginning follows`
    const next = `[more: unit="bytes" start=${byteLength(text.slice(0, long.start) + part)}; next item: start=${first + 1}]`
    return reader.answer(`${header}\n${part}\n${next}`, [stat.handle], true)
  }
  const last = first + shown.length - 1
  const header = `${stat.handle} items ${grouped(first)}-${grouped(last)} of ${what}`
  const more = last + 1 < total ? `\n[more: start=${last + 1}]` : ''
  return reader.answer(`${header}\n[${shown.join(',\n')}]${more}`, [stat.handle], shown.length < wanted)
}

interface FoundItems {
  /** What stands where a list was looked for. */
  readonly kind: 'list' | 'object' | 'scalar' | 'missing'
  /** First keys of the object there, or of the one at which the path ended. */
  readonly keys: readonly string[]
  /** Calls `visit` with each item's place in the text until it returns false. */
  readonly each?: (visit: (start: number, end: number, index: number) => boolean | void) => void
}

const MAX_KEYS = 20

/** The elements of the list at `path` from the root, or the objects and lists that follow each other at the root. */
function itemsIn(text: string, path: readonly string[]): FoundItems {
  const root = skipSpace(text, text.startsWith('\ufeff') ? 1 : 0)
  let at = root
  for (const step of path) {
    const keys: string[] = []
    let next = -1
    if (isArrayAt(text, at))
      eachItem(text, at, (start, _, index) => {
        if (String(index) === step) next = start
        return next < 0
      })
    else if (isObjectAt(text, at))
      eachEntry(text, at, (entry) => {
        const key = keyText(text, entry)
        if (keys.length < MAX_KEYS) keys.push(key)
        if (key === step) next = entry.start
        return next < 0
      })
    if (next < 0) return { kind: 'missing', keys }
    at = next
  }
  if (isArrayAt(text, at)) return { kind: 'list', keys: [], each: (visit) => void eachItem(text, at, visit) }
  if (!isObjectAt(text, at)) return { kind: path.length > 0 ? 'missing' : 'scalar', keys: [] }
  if (path.length === 0 && isJsonSequence(text, root))
    return { kind: 'list', keys: [], each: (visit) => eachRoot(text, root, visit) }
  const keys: string[] = []
  eachEntry(text, at, (entry) => keys.push(keyText(text, entry)) < MAX_KEYS)
  return { kind: 'object', keys }
}

/** Several objects or lists, as in JSON lines. */
function isJsonSequence(text: string, root: number): boolean {
  let roots = 0
  let isOther = false
  eachRoot(text, root, (start) => {
    roots++
    isOther ||= !isArrayAt(text, start) && !isObjectAt(text, start)
    return !isOther
  })
  return roots > 1 && !isOther
}

function eachRoot(text: string, root: number, visit: Parameters<typeof eachItem>[2]): void {
  let at = root
  for (let index = 0; at < text.length; index++) {
    const end = skipValue(text, at)
    if (end < 0 || visit(at, end, index) === false) return
    at = skipSpace(text, end)
  }
}

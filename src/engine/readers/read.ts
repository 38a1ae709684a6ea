import { PlimsollError } from '../../core/errors.ts'
import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  unquoted,
} from '../../core/json/lexer.ts'
import { chunksOf, type LineIndexes, offsetOfLine, readBytes } from './lines.ts'
import {
  brokenBytes,
  byteLength,
  cutBytes,
  grouped,
  type Reader,
  type ReaderAnswer,
  wholeCharacters,
} from './reader.ts'
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
export async function artifactRead(reader: Reader, indexes: LineIndexes, request: ReadRequest): Promise<ReaderAnswer> {
  const { unit = 'lines', start, count } = request
  if (start !== undefined && !Number.isSafeInteger(start)) throw badNumber('start', start)
  if (count !== undefined && (!Number.isSafeInteger(count) || count < 1)) throw badNumber('count', count)
  const stat = await reader.find(request.handle)
  if (unit === 'bytes') return readByteRange(reader, stat, start, count)
  if (unit === 'items') return readItems(reader, stat, request)
  if (unit !== 'lines')
    throw new PlimsollError('bad-input', `unit is "lines", "bytes" or "items", not ${JSON.stringify(unit)}.`)
  return readLines(reader, indexes, stat, start, count)
}

const badNumber = (name: string, value: number): PlimsollError =>
  new PlimsollError('bad-input', `${name} must be a whole number${name === 'count' ? ' from 1' : ''}; it is ${value}.`)

/** The first of `total` things that a request means, counted from `first`. */
function firstOf(start: number | undefined, total: number, first: number): number {
  if (start === undefined) return first
  return start < 0 ? Math.max(first, total + first + start) : Math.max(first, start)
}

async function readLines(
  reader: Reader,
  indexes: LineIndexes,
  stat: ArtifactStat,
  start?: number,
  count = Infinity,
): Promise<ReaderAnswer> {
  const index = await indexes.of(reader, stat)
  const first = firstOf(start, index.lines, 1)
  const size = `${grouped(index.lines)} lines, ${grouped(stat.bytes)} bytes`
  if (first > index.lines)
    return reader.answer(`${stat.handle} has ${size}; there is no line ${grouped(first)}.`, [stat.handle], false)
  const room = reader.room(1) - HEADER_BYTES
  const from = await offsetOfLine(reader, stat, index, first)
  const bytes = await readBytes(reader, stat, from, Math.min(from + room + 1, stat.bytes))
  const end = endOfLines(bytes, Math.min(count, index.lines - first + 1), from + bytes.length === stat.bytes, room)
  if (end.lines === 0) return readLongLine(reader, stat, first, from, bytes.subarray(0, room), size)
  const last = first + end.lines - 1
  const header = `${stat.handle} lines ${grouped(first)}-${grouped(last)} of ${size}`
  const more = last < index.lines
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

async function readItems(reader: Reader, stat: ArtifactStat, request: ReadRequest): Promise<ReaderAnswer> {
  const path = pathOf(request.path)
  const counted =
    request.start !== undefined && request.start < 0 ? await scanItems(reader, stat, path, 0, 0) : undefined
  const first = firstOf(request.start, counted?.items.count ?? 0, 0)
  const room = reader.room(1) - HEADER_BYTES
  const { items, spans } = await scanItems(reader, stat, path, first, request.count ?? Infinity, room)
  if (items.kind !== 'array' && items.kind !== 'lines') throw noItems(stat, items, path)
  const what = `${grouped(items.count)} items${path.length === 0 ? '' : ` of ${path.join('.')}`}`
  if (spans.length === 0)
    return reader.answer(`${stat.handle} has ${what}; there is no item ${grouped(first)}.`, [stat.handle], false)
  const shown: string[] = []
  let used = 0
  for (const { start, end } of spans) {
    const bytes = await readBytes(reader, stat, start, Math.min(end, start + room))
    const text = Buffer.from(bytes).toString('utf8')
    if (used + byteLength(text) + 2 > room || end - start > room) break
    used += byteLength(text) + 2
    shown.push(text)
  }
  const last = first + shown.length - 1
  const wanted = Math.min(items.count - first, request.count ?? Infinity)
  if (shown.length === 0) return readLongItem(reader, stat, first, spans[0] ?? { start: 0, end: 0 }, what, room)
  const header = `${stat.handle} items ${grouped(first)}-${grouped(last)} of ${what}`
  const more = last + 1 < items.count ? `\n[more: start=${last + 1}]` : ''
  return reader.answer(`${header}\n[${shown.join(',\n')}]${more}`, [stat.handle], shown.length < wanted)
}

async function readLongItem(
  reader: Reader,
  stat: ArtifactStat,
  item: number,
  span: { start: number; end: number },
  what: string,
  room: number,
): Promise<ReaderAnswer> {
  const bytes = await readBytes(reader, stat, span.start, Math.min(span.end, span.start + room))
  const text = cutBytes(Buffer.from(bytes).toString('utf8'), room)
  const header = `${stat.handle} item ${grouped(item)} of ${what} has ${grouped(span.end - span.start)} bytes, its beginning follows`
  const next = `[more: unit="bytes" start=${span.start + byteLength(text)}; next item: start=${item + 1}]`
  return reader.answer(`${header}\n${text}\n${next}`, [stat.handle], true)
}

/** Spans of the wanted items, as many as could fit into `room`, and the count of all. */
async function scanItems(
  reader: Reader,
  stat: ArtifactStat,
  path: readonly string[],
  first: number,
  count: number,
  room = 0,
) {
  const spans = { array: [] as { start: number; end: number }[], root: [] as { start: number; end: number }[] }
  const used = { array: 0, root: 0 }
  const scanner = jsonItemScanner(path, (of, index, start, end) => {
    if (index < first || index >= first + count || used[of] > room) return
    used[of] += end - start
    spans[of].push({ start, end })
  })
  for await (const { start, bytes } of chunksOf(reader, stat)) scanner.push(bytes, start)
  const items = scanner.end(stat.bytes)
  return { items, spans: items.kind === 'lines' ? spans.root : spans.array }
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

function noItems(stat: ArtifactStat, { kind, keys }: JsonItems, path: readonly string[]): PlimsollError {
  const where = path.length === 0 ? 'The root' : path.join('.')
  const known = keys.length === 0 ? '' : ` Its keys are ${keys.map((key) => JSON.stringify(key)).join(', ')}.`
  const reason =
    kind === 'missing'
      ? `There is nothing at ${path.join('.')}.${known}`
      : kind === 'object'
        ? `${where} is an object.${known}`
        : 'It is not a JSON array and not JSON lines.'
  return new PlimsollError('bad-input', `${stat.handle} has no items to read. ${reason}`, {
    advice:
      kind === 'object' || kind === 'missing'
        ? 'Name the array with path, as in "result.items".'
        : 'Read it by unit="lines" or unit="bytes".',
  })
}

export interface JsonItems {
  /** `array`: its elements. `lines`: one object or array after another. The others have no items. */
  readonly kind: 'array' | 'lines' | 'object' | 'scalar' | 'missing'
  readonly count: number
  /** First keys of the object that stands where an array was looked for, or where the path ended. */
  readonly keys: readonly string[]
}

/** `of`: an element of the array, or a root value, which is an item when there are several. Bytes are half-open. */
export type OnJsonItem = (of: 'array' | 'root', index: number, start: number, end: number) => void

/** Takes the text piece by piece. */
export interface JsonItemScanner {
  push(bytes: Uint8Array, start: number): void
  end(size: number): JsonItems
}

interface Frame {
  readonly kind: 'array' | 'object'
  readonly start: number
  index: number
  /** Undefined until the colon: the next string is a key. */
  key: string | undefined
}

const MAX_KEYS = 20
const MAX_KEY_BYTES = 1000

/**
 * Finds the elements of one array, at `path` from the root, without parsing any value: a state machine over bytes, so
 * that one line of 100 MB needs no more memory than one of 1 KB.
 */
export function jsonItemScanner(path: readonly string[], onItem: OnJsonItem): JsonItemScanner {
  /** Containers on the path that are open now. Deeper ones are only counted. */
  const frames: Frame[] = []
  let depth = 0
  let inString = false
  let escaped = false
  let keyBytes: number[] | undefined
  let valueAt = -1
  let roots = 0
  let scalarRoots = 0
  let found: 'array' | 'object' | undefined
  let elements = 0
  let keys: string[] = []

  function beginValue(at: number): void {
    if (valueAt === -1) valueAt = at
  }

  function endValue(end: number, scalar: boolean): void {
    if (valueAt === -1) return
    const start = valueAt
    valueAt = -1
    if (frames.length === 0) {
      onItem('root', roots++, start, end)
      if (scalar) scalarRoots++
    } else if (found === 'array' && frames.length === path.length + 1) onItem('array', elements++, start, end)
  }

  function isOnPath(): boolean {
    const parent = frames.at(-1)
    if (parent === undefined) return roots === 0
    if (found !== undefined || frames.length > path.length) return false
    return path[frames.length - 1] === (parent.kind === 'array' ? String(parent.index) : parent.key)
  }

  function open(kind: 'array' | 'object', at: number): void {
    beginValue(at)
    depth++
    if (!isOnPath()) return
    frames.push({ kind, start: valueAt, index: 0, key: undefined })
    valueAt = -1
    keys = []
    if (frames.length === path.length + 1) found = kind
  }

  function close(end: number): void {
    if (depth === 0) return
    if (depth > frames.length) {
      if (--depth === frames.length) endValue(end, false)
      return
    }
    endValue(end - 1, true)
    depth--
    valueAt = frames.pop()?.start ?? -1
    endValue(end, false)
  }

  function endString(end: number): void {
    inString = false
    if (keyBytes === undefined) {
      if (depth === frames.length) endValue(end, true)
      return
    }
    const key = unquoted(`"${Buffer.from(keyBytes).toString('utf8')}"`)
    keyBytes = undefined
    const frame = frames.at(-1)
    if (frame !== undefined) frame.key = key
    if (keys.length < MAX_KEYS) keys.push(key)
  }

  function insideString(byte: number, at: number): void {
    if (escaped) escaped = false
    else if (byte === BACKSLASH) escaped = true
    else if (byte === QUOTE) return endString(at + 1)
    if (keyBytes !== undefined && keyBytes.length < MAX_KEY_BYTES) keyBytes.push(byte)
  }

  function beginString(at: number): void {
    inString = true
    if (depth !== frames.length) return
    const frame = frames.at(-1)
    if (frame?.kind === 'object' && frame.key === undefined) keyBytes = []
    else beginValue(at)
  }

  function step(byte: number, at: number): void {
    if (inString) return insideString(byte, at)
    if (byte === QUOTE) return beginString(at)
    if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) return open(byte === OPEN_ARRAY ? 'array' : 'object', at)
    if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) return close(at + 1)
    // What lies deeper than the path needs no more than the count of its brackets.
    if (depth !== frames.length) return
    if (byte <= 0x20) return endValue(at, true)
    if (byte === COMMA) {
      endValue(at, true)
      const frame = frames.at(-1)
      if (frame === undefined) return
      frame.index++
      frame.key = undefined
    } else if (byte !== COLON) beginValue(at)
  }

  return {
    push(bytes, start) {
      for (let i = 0; i < bytes.length; i++) step(bytes[i] ?? 0, start + i)
    },
    end(size) {
      if (depth === 0) endValue(size, true)
      if (found === 'array') return { kind: 'array', count: elements, keys }
      if (roots > 1 && scalarRoots === 0 && path.length === 0) return { kind: 'lines', count: roots, keys }
      if (found === 'object') return { kind: 'object', count: 0, keys }
      return { kind: path.length > 0 ? 'missing' : 'scalar', count: 0, keys }
    },
  }
}

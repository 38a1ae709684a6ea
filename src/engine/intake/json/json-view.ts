import { parsedJson } from '../../../core/values.ts'
import { moreItems, moreKeys, byteLength, cutHeadBytes, cutTailBytes, grouped } from '../text.ts'
import {
  eachEntry,
  eachItem,
  isArrayAt,
  isObjectAt,
  keyText,
  skipSpace,
  skipString,
  skipValue,
  type EntrySpan,
  type Span,
} from '../../../core/json/lexer.ts'

/**
 * Writes a shorter JSON value for a longer one, from the original text: numbers keep every digit, strings their escapes, keys
 * their order and their duplicates. The result is valid JSON whenever the input was, and says what it left out.
 */
export interface JsonView {
  readonly text: string
  /** Nothing was left out. */
  readonly whole: boolean
}

export interface JsonOptions {
  /** Keys of records that say nothing, e.g. because every record has the same value there. Left out first. */
  readonly dull?: ReadonlySet<string>
}

/**
 * The value at `at` in about `chars` characters. Room is shared: what is small stays whole, what is large gives way, level by
 * level. Undefined when the room holds nothing that would be worth it.
 */
export function renderJson(text: string, at: number, chars: number, options: JsonOptions = {}): JsonView | undefined {
  if (chars < MIN_ROOM) return undefined
  return balanced(text, { start: at, end: skipValue(text, at) }, chars, 0, options)
}

const MIN_ROOM = 12
/** Room below which an entry shows nothing but its own name. */
const MIN_ENTRY = 24
const MIN_ITEM = 48
/** Children of one container that can be shown at all. */
const MAX_CHILDREN = 1_000
const MAX_DEPTH = 12
/** White space makes indented JSON longer, but hardly more than this much. */
const MAX_SPARSENESS = 8

function balanced(text: string, span: Span, room: number, depth: number, options: JsonOptions): JsonView {
  const { start, end } = span
  if (end - start <= room * MAX_SPARSENESS) {
    const whole = compact(text, span, room)
    if (whole !== undefined) return { text: whole, whole: true }
  }
  const open = depth < MAX_DEPTH && room >= MIN_ENTRY
  if (isObjectAt(text, start))
    return open && room >= MIN_ENTRY * 2 ? object(text, span, room, depth, options) : closed(text, span)
  if (isArrayAt(text, start)) return open ? array(text, span, room, depth, options) : closed(text, span)
  const raw = text.slice(start, end)
  if (text.charCodeAt(start) !== 34) return { text: raw, whole: true }
  return { text: repairSurrogates(shortString(raw, Math.max(8, room - 20))), whole: false }
}

/** The first children of a container and their number. */
function childrenOf(text: string, { start }: Span) {
  const spans: (EntrySpan | Span)[] = []
  let count = 0
  if (isArrayAt(text, start)) {
    eachItem(text, start, (from, to) => {
      if (count++ < MAX_CHILDREN) spans.push({ start: from, end: to })
    })
  } else {
    eachEntry(text, start, (entry) => {
      if (count++ < MAX_CHILDREN) spans.push(entry)
    })
  }
  return { count, spans }
}

/** A container that is only named by its size. */
function closed(text: string, span: Span): JsonView {
  const { count } = childrenOf(text, span)
  const array = isArrayAt(text, span.start)
  if (count === 0) return { text: array ? '[]' : '{}', whole: true }
  return { text: array ? `["${moreItems(count)}"]` : `{"…":"${moreKeys(count)}"}`, whole: false }
}

function object(text: string, span: Span, room: number, depth: number, options: JsonOptions): JsonView {
  const { count, spans } = childrenOf(text, span)
  const all = spans as readonly EntrySpan[]
  const entries =
    depth === 0 && options.dull !== undefined ? all.filter((entry) => !options.dull!.has(keyText(text, entry))) : all
  // Scalars first: they say what a record is. Within each sort the order is kept.
  const ordered =
    entries.length * MIN_ENTRY > room
      ? [...entries.filter((entry) => !isOpen(text, entry)), ...entries.filter((entry) => isOpen(text, entry))]
      : entries
  const kept = ordered.slice(0, Math.max(1, Math.floor((room - 24) / MIN_ENTRY)))
  const costs = kept.map((entry) => entry.end - entry.start + entry.keyEnd - entry.keyStart + 2)
  const shares = shareRoom(costs, room - 2 - (kept.length < count ? 24 : 0))
  const pieces = kept.map((entry, i) => {
    const key = text.slice(entry.keyStart, entry.keyEnd)
    const name = key.length > 120 ? shortString(key, 60) : key
    return `${name}:${balanced(text, entry, Math.max(MIN_ROOM, shares[i]! - name.length - 2), depth + 1, options).text}`
  })
  if (kept.length < count) pieces.push(`"…":"${moreKeys(count - kept.length)}"`)
  return { text: `{${pieces.join(',')}}`, whole: false }
}

const isOpen = (text: string, { start }: Span): boolean => isArrayAt(text, start) || isObjectAt(text, start)

function array(text: string, span: Span, room: number, depth: number, options: JsonOptions): JsonView {
  const { count, spans } = childrenOf(text, span)
  const pieces: string[] = []
  let used = 2
  for (const item of spans) {
    const left = room - used - 22
    if (left < MIN_ROOM || (item.end - item.start > left && left < MIN_ITEM)) break
    // The first items get a third each at most: three cut ones tell more than one whole.
    const share = Math.min(left, Math.max(MIN_ITEM, Math.floor(room / 3)))
    const piece = balanced(text, item, share, depth + 1, options)
    if (pieces.length > 0 && used + piece.text.length > room - 22) break
    pieces.push(piece.text)
    used += piece.text.length + 1
  }
  if (pieces.length < count) pieces.push(`"${moreItems(count - pieces.length)}"`)
  return { text: `[${pieces.join(',')}]`, whole: false }
}

/** Water-filling: what asks for less than its share gets what it asks for, and the rest is shared among the others. */
function shareRoom(costs: readonly number[], room: number): number[] {
  const shares = costs.map(() => 0)
  const order = costs.map((cost, index) => ({ cost, index })).sort((a, b) => a.cost - b.cost)
  let left = Math.max(0, room)
  order.forEach(({ cost, index }, i) => {
    const share = Math.floor(left / (order.length - i))
    shares[index] = Math.min(cost, share)
    left -= Math.min(cost, share)
  })
  return shares
}

const WORD = /[\w.+-]/
const RUN = /[^"\s]+/y

/** The value without white space between its parts, or undefined when that is longer than `max`. */
function compact(all: string, span: Span, max: number): string | undefined {
  // Its own part alone: a run of text without quotes would be looked for up to the end of everything, for each value anew.
  const text = all.slice(span.start, span.end)
  const end = text.length
  let out = ''
  for (let at = 0; at < end;) {
    if (out.length > max) return undefined
    const space = skipSpace(text, at)
    // Only in text that is no JSON do two words follow each other.
    if (space > at && WORD.test(out.at(-1) ?? '') && WORD.test(text[space] ?? '')) out += ' '
    RUN.lastIndex = at = Math.min(space, end)
    const next = text[at] === '"' ? skipString(text, at) : RUN.test(text) ? RUN.lastIndex : end
    if (next < 0) return undefined
    out += repairSurrogates(text.slice(at, Math.min(next, end)))
    at = next
  }
  return out.length <= max ? out : undefined
}

const BASE64 = /^[A-Za-z0-9+/_-]{200}/

/** Cuts a raw JSON string (quotes included) to about `units` of content; no escape and no pair is split. */
function shortString(raw: string, units: number): string {
  const content = raw.length - 2
  // The mark takes room of its own: cutting less than that saves nothing.
  if (content <= units + 18) return raw
  if (BASE64.test(raw.slice(1, 300))) return `"<${grouped(content)} chars of base64>"`
  // The end of a message often holds the reason: a third of the room is for it.
  const tailUnits = units >= 60 ? Math.floor(units / 3) : 0
  const head = raw.slice(1, safeCut(raw, 1 + units - tailUnits))
  const tailStart = tailUnits === 0 ? raw.length - 1 : safeCut(raw, raw.length - 1 - tailUnits)
  const tail = raw.slice(tailStart, raw.length - 1)
  return `"${head}… [+${grouped(tailStart - 1 - head.length)} chars]${tail === '' ? '' : ` …${tail}`}"`
}

/** The nearest position at or before `at` that is inside no escape sequence and no surrogate pair. */
function safeCut(raw: string, at: number): number {
  let cut = at
  const near = Math.max(1, cut - 5)
  const unicode = near + raw.slice(near, cut + 1).lastIndexOf('\\u')
  if (unicode >= near && !isEscaped(raw, unicode)) cut = unicode
  // A pair written as two escapes: never end behind its first half.
  while (/^\\u[dD][89abAB]/.test(raw.slice(cut - 6, cut)) && !isEscaped(raw, cut - 6)) cut -= 6
  if (isEscaped(raw, cut)) cut--
  const before = raw.charCodeAt(cut - 1)
  if (before >= 0xd800 && before <= 0xdbff) cut--
  return Math.max(1, cut)
}

/** True when the character at `at` follows an odd number of backslashes. */
function isEscaped(raw: string, at: number): boolean {
  let slashes = 0
  while (raw.charCodeAt(at - 1 - slashes) === 92) slashes++
  return slashes % 2 === 1
}

const ESCAPED_SURROGATE =
  /(\\\\)|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}/g

/** Half a pair as an escape is valid JSON and still refused by strict parsers. */
function repairSurrogates(raw: string): string {
  if (!/\\u[dD]/.test(raw)) return raw
  return raw.replace(ESCAPED_SURROGATE, (match, escaped?: string) =>
    escaped !== undefined || match.length === 12 ? match : '\\ufffd',
  )
}

/** A raw JSON string (quotes included) as its two halves in at most about `bytes` of content, with a marker of your own between. */
export function shortJsonString(raw: string, bytes: number, marker: (omittedBytes: number) => string): string {
  const content = raw.slice(1, -1)
  const half = Math.floor(bytes / 2)
  const head = raw.slice(1, safeCut(raw, 1 + cutHeadBytes(content, half).length))
  const tail = raw.slice(safeCutAfter(raw, raw.length - 1 - cutTailBytes(content, half).length), raw.length - 1)
  return repairSurrogates(`"${head}${marker(byteLength(content) - byteLength(head) - byteLength(tail))}${tail}"`)
}

/** The nearest safe position at or after `at`. */
function safeCutAfter(raw: string, at: number): number {
  for (let cut = at; cut < raw.length - 1; cut++) if (safeCut(raw, cut) === cut) return cut
  return raw.length - 1
}

/** JSON text of any value; a value that cannot be written (too deep, a cycle) counts as too large. */
export function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value) ?? ''
  } catch {
    return UNWRITABLE
  }
}

export const jsonLength = (value: unknown): number => {
  const text = jsonText(value)
  return text === UNWRITABLE ? Number.MAX_SAFE_INTEGER : text.length
}

const UNWRITABLE = '"(a value that is too deep to write as JSON)"'

/** The object or list that a text is; undefined for any other text. */
export const parseStructure = (text: string): unknown => (/^\s*[[{]/.test(text) ? parsedJson(text) : undefined)

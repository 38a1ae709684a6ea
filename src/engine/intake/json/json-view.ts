import { moreItems, moreKeys, byteLength, cutHeadBytes, cutTailBytes, grouped } from '../text.ts'
import {
  eachEntry,
  eachItem,
  isArrayAt,
  isObjectAt,
  keyText,
  skipValue,
  type EntrySpan,
  type Span,
} from '../../../core/json/lexer.ts'

/**
 * Writes a shorter JSON value for a longer one, from the original text: numbers keep every digit, strings their escapes, keys
 * their order and their duplicates. The result is valid JSON whenever the input was, and says what it left out.
 */
export interface JsonLimits {
  readonly string: number
  readonly items: number
  readonly keys: number
  readonly depth: number
}

/** Everything, as long as it takes no more than a size. */
const WHOLE: JsonLimits = { string: Infinity, items: Infinity, keys: Infinity, depth: 60 }

export interface JsonView {
  readonly text: string
  /** Nothing was left out. */
  readonly whole: boolean
}

export interface JsonOptions {
  /** Keys of records that say nothing, e.g. because every record has the same value there. Left out first. */
  readonly dull?: ReadonlySet<string>
  /** Children of large containers, kept between renderings of one text: skipping them is the expensive part. */
  readonly outlines?: Map<number, Children>
}

/** The first children of a container and their number. */
export interface Children {
  readonly count: number
  readonly spans: readonly (EntrySpan | Span)[]
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
/** Above this size a container's children are remembered. */
const OUTLINE_CHARS = 10_000
/** White space makes indented JSON longer, but hardly more than this much. */
const MAX_SPARSENESS = 8

function balanced(text: string, span: Span, room: number, depth: number, options: JsonOptions): JsonView {
  const { start, end } = span
  if (end - start <= room * MAX_SPARSENESS) {
    const whole = new Writer(text, WHOLE, room)
    if (whole.value(start, 0)) return { text: whole.out, whole: whole.whole }
  }
  const open = depth < MAX_DEPTH && room >= MIN_ENTRY
  if (isObjectAt(text, start))
    return open && room >= MIN_ENTRY * 2 ? object(text, span, room, depth, options) : closed(text, span, options)
  if (isArrayAt(text, start)) return open ? array(text, span, room, depth, options) : closed(text, span, options)
  const raw = text.slice(start, end)
  if (text.charCodeAt(start) !== 34) return { text: raw, whole: true }
  return { text: repairSurrogates(shortString(raw, Math.max(8, room - 20)).text), whole: false }
}

function childrenOf(text: string, { start, end }: Span, { outlines }: JsonOptions): Children {
  const known = outlines?.get(start)
  if (known !== undefined) return known
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
  const children = { count, spans }
  if (end - start > OUTLINE_CHARS) outlines?.set(start, children)
  return children
}

/** A container that is only named by its size. */
function closed(text: string, span: Span, options: JsonOptions): JsonView {
  const { count } = childrenOf(text, span, options)
  const array = isArrayAt(text, span.start)
  if (count === 0) return { text: array ? '[]' : '{}', whole: true }
  return { text: array ? `["${moreItems(count)}"]` : `{"…":"${moreKeys(count)}"}`, whole: false }
}

function object(text: string, span: Span, room: number, depth: number, options: JsonOptions): JsonView {
  const { count, spans } = childrenOf(text, span, options)
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
    const name = key.length > 120 ? shortString(key, 60).text : key
    return `${name}:${balanced(text, entry, Math.max(MIN_ROOM, shares[i]! - name.length - 2), depth + 1, options).text}`
  })
  if (kept.length < count) pieces.push(`"…":"${moreKeys(count - kept.length)}"`)
  return { text: `{${pieces.join(',')}}`, whole: false }
}

const isOpen = (text: string, { start }: Span): boolean => isArrayAt(text, start) || isObjectAt(text, start)

function array(text: string, span: Span, room: number, depth: number, options: JsonOptions): JsonView {
  const { count, spans } = childrenOf(text, span, options)
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
export function shareRoom(costs: readonly number[], room: number): number[] {
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

/** With fixed limits instead of a size, for callers that promise exact numbers (3 keys, 100 characters). */
export function renderJsonWithin(text: string, at: number, limits: JsonLimits): JsonView {
  const writer = new Writer(text, limits, Number.MAX_SAFE_INTEGER)
  writer.value(at, 0)
  return { text: writer.out, whole: writer.whole }
}

/** Depth is bounded by the limits, so this recursion is too. */
class Writer {
  out = ''
  whole = true
  readonly #text: string
  readonly #limits: JsonLimits
  readonly #max: number

  constructor(text: string, limits: JsonLimits, max: number) {
    this.#text = text
    this.#limits = limits
    this.#max = max
  }

  /** False when the rendering grew beyond its size. */
  value(at: number, depth: number): boolean {
    const code = this.#text.charCodeAt(at)
    if (code === 34) return this.#string(at)
    if (isArrayAt(this.#text, at)) return depth >= this.#limits.depth ? this.#closed(at) : this.#array(at, depth)
    if (isObjectAt(this.#text, at)) return depth >= this.#limits.depth ? this.#closed(at) : this.#object(at, depth)
    return this.#put(this.#text.slice(at, skipValue(this.#text, at)))
  }

  #put(piece: string): boolean {
    this.out += piece
    return this.out.length <= this.#max
  }

  /** A container that is too deep is named by its size. */
  #closed(at: number): boolean {
    const array = isArrayAt(this.#text, at)
    let count = 0
    const visit = (): void => void count++
    if (array) eachItem(this.#text, at, visit)
    else eachEntry(this.#text, at, visit)
    if (count === 0) return this.#put(array ? '[]' : '{}')
    this.whole = false
    return this.#put(array ? `["${moreItems(count)}"]` : `{"…":"${moreKeys(count)}"}`)
  }

  #array(at: number, depth: number): boolean {
    if (!this.#put('[')) return false
    let count = 0
    let fits = true
    eachItem(this.#text, at, (start) => {
      if (count++ >= this.#limits.items) return
      if (count > 1) this.out += ','
      fits = this.value(start, depth + 1)
      return fits
    })
    if (!fits) return false
    const left = count - this.#limits.items
    if (left > 0) {
      this.whole = false
      if (!this.#put(`${this.#limits.items > 0 ? ',' : ''}"${moreItems(left)}"`)) return false
    }
    return this.#put(']')
  }

  #object(at: number, depth: number): boolean {
    if (!this.#put('{')) return false
    let count = 0
    let fits = true
    eachEntry(this.#text, at, (entry) => {
      if (count++ >= this.#limits.keys) return
      if (count > 1) this.out += ','
      const key = this.#text.slice(entry.keyStart, entry.keyEnd)
      this.out += key.length > 200 ? shortString(key, 60).text : key
      this.out += ':'
      fits = this.value(entry.start, depth + 1)
      return fits
    })
    if (!fits) return false
    const left = count - this.#limits.keys
    if (left > 0) {
      this.whole = false
      if (!this.#put(`${this.#limits.keys > 0 ? ',' : ''}"…":"${moreKeys(left)}"`)) return false
    }
    return this.#put('}')
  }

  #string(at: number): boolean {
    const end = skipValue(this.#text, at)
    if (end < 0) return false
    if (end - at - 2 <= this.#limits.string) return this.#put(repairSurrogates(this.#text.slice(at, end)))
    const short = shortString(this.#text.slice(at, end), this.#limits.string)
    this.whole = false
    return this.#put(repairSurrogates(short.text))
  }
}

/** Raw JSON strings, quotes included, cut without breaking an escape or a surrogate pair. */

const BASE64 = /^[A-Za-z0-9+/_-]{200}/

/** Cuts a raw JSON string (quotes included) to about `units` of content; no escape and no pair is split. */
function shortString(raw: string, units: number): { readonly text: string } {
  const content = raw.length - 2
  // The mark takes room of its own: cutting less than that saves nothing.
  if (content <= units + 18) return { text: raw }
  if (BASE64.test(raw.slice(1, 300))) return { text: `"<${grouped(content)} chars of base64>"` }
  // The end of a message often holds the reason: a third of the room is for it.
  const tailUnits = units >= 60 ? Math.floor(units / 3) : 0
  const head = raw.slice(1, safeCut(raw, 1 + units - tailUnits))
  const tailStart = tailUnits === 0 ? raw.length - 1 : safeCut(raw, raw.length - 1 - tailUnits)
  const tail = raw.slice(tailStart, raw.length - 1)
  return { text: `"${head}… [+${grouped(tailStart - 1 - head.length)} chars]${tail === '' ? '' : ` …${tail}`}"` }
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
export function parseStructure(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

import { moreItems, moreKeys } from '../markers.ts'
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
import { repairSurrogates, shortString } from './json-string.ts'

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

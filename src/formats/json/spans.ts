import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  BACKSLASH,
  keyText,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  skipScalar,
  skipString,
  skipValue,
} from '../../core/json/lexer.ts'

/** Finds the borders of values in text that the language's own parser has already accepted. */

/**
 * Levels of a body that have spans. The deepest place that a codec edits is a field of a Gemini function response inside a
 * wrapped request; what lies below is skipped by counting brackets, so nesting costs no stack.
 */
const MAX_DEPTH = 9

/** Siblings that are walked over without being remembered. */
const SMALL = 64

/** More values than most turns add. */
const ROOM = 1_024

/** Numbers per value: where it starts and ends, which value comes after all of its own, where its key starts. */
const STRIDE = 4

/** A text that begins as another one does, up to and including a value of it. */
export interface Resumption {
  readonly spans: Spans
  /** The containers that are open there, outermost first. */
  readonly open: readonly number[]
  /** Values of the innermost one up to there; the last of them ends what is the same. */
  readonly kept: readonly number[]
}

/**
 * Spans of the values of a text in document order, as plain numbers: one pass, and nothing for the garbage collector to walk.
 * A value is known by its place in that order.
 */
export class Spans {
  readonly #text: string
  #table = new Int32Array(ROOM)
  #count = 0
  /** Long lists and objects that somebody asked about. */
  readonly #lists = new Map<number, readonly number[]>()
  readonly #keys = new Map<number, ReadonlyMap<string, number>>()
  /** A list that an earlier text began. */
  #begun: { readonly list: number; readonly kept: readonly number[] } | undefined

  constructor(text: string, after?: Resumption) {
    this.#text = text
    if (after === undefined) this.#scan(0, [])
    else this.#resume(after)
  }

  start(value: number): number {
    return this.#table[value * STRIDE]!
  }

  end(value: number): number {
    return this.#table[value * STRIDE + 1]!
  }

  keyStart(value: number): number {
    return this.#table[value * STRIDE + 3]!
  }

  raw(value: number): string {
    return cutOut(this.#text, this.start(value), this.end(value))
  }

  /** The same for whoever does not keep it: it keeps all of the text in memory. */
  slice(value: number): string {
    return this.#text.slice(this.start(value), this.end(value))
  }

  key(value: number): string {
    const keyStart = this.keyStart(value)
    return keyText(this.#text, { keyStart, keyEnd: skipString(this.#text, keyStart) })
  }

  /** The values directly inside, or undefined where a container lies too deep to have been looked into. */
  children(value: number): readonly number[] | undefined {
    const known = this.#lists.get(value)
    if (known !== undefined) return known
    const after = this.#table[value * STRIDE + 2]!
    if (after < 0) return undefined
    const children = this.#begun?.list === value ? [...this.#begun.kept] : []
    const last = children.at(-1)
    for (let at = last === undefined ? value + 1 : this.#next(last); at < after; at = this.#next(at)) children.push(at)
    // Walking over thousands of siblings once for each of them would be quadratic, so a long list is remembered.
    if (children.length > SMALL) this.#lists.set(value, children)
    return children
  }

  /** The value under a key or at an index. The last one counts where a key is repeated. */
  child(value: number, step: string | number): number | undefined {
    if (typeof step === 'number') return this.children(value)?.[step]
    const keys = this.#keys.get(value)
    if (keys !== undefined) return keys.get(step)
    const after = this.#table[value * STRIDE + 2]!
    let found: number | undefined
    let index = 0
    for (let at = value + 1; at < after; at = this.#next(at), index++) {
      if (index > SMALL) return this.#indexKeys(value).get(step)
      if (this.#hasKey(at, step)) found = at
    }
    return found
  }

  #indexKeys(value: number): ReadonlyMap<string, number> {
    const isObject = this.#text.charCodeAt(this.start(value)) === OPEN_OBJECT
    const keys = new Map(isObject ? this.children(value)?.map((at) => [this.key(at), at]) : [])
    this.#keys.set(value, keys)
    return keys
  }

  /** The value that comes after this one and all that lies inside it. */
  #next(value: number): number {
    return Math.abs(this.#table[value * STRIDE + 2]!)
  }

  #hasKey(value: number, key: string): boolean {
    const start = this.keyStart(value)
    if (this.#text.charCodeAt(start + 1 + key.length) === QUOTE && this.#text.startsWith(key, start + 1)) return true
    return this.#text.charCodeAt(start + 1) === BACKSLASH && this.key(value) === key
  }

  #resume({ spans, open, kept }: Resumption): void {
    const last = kept.at(-1)!
    this.#count = spans.#next(last)
    this.#begun = { list: open.at(-1)!, kept }
    // With room behind it, as far as there is some: a table that has to grow at once is copied twice.
    this.#table = spans.#table.slice(0, (this.#count + ROOM) * STRIDE)
    this.#scan(spans.end(last), [...open])
  }

  #scan(from: number, open: number[]): void {
    const text = this.#text
    let key = -1
    let wantsKey = false
    for (let at = from; at < text.length;) {
      const code = text.charCodeAt(at)
      if (code === QUOTE) {
        const end = skipString(text, at)
        if (wantsKey) {
          key = at
          wantsKey = false
        } else {
          this.#add(at, end, key)
        }
        at = end
      } else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
        if (open.length < MAX_DEPTH) {
          open.push(this.#add(at, 0, key))
          wantsKey = code === OPEN_OBJECT
          at++
        } else {
          const end = skipValue(text, at)
          const value = this.#add(at, end, key)
          // A negative successor says that nobody has looked inside.
          this.#table[value * STRIDE + 2] = -this.#count
          at = end
        }
      } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) {
        const value = open.pop()!
        at++
        this.#table[value * STRIDE + 1] = at
        this.#table[value * STRIDE + 2] = this.#count
        wantsKey = false
      } else if (code === COMMA) {
        // The container's first character says whether a key or a value comes next.
        wantsKey = text.charCodeAt(this.start(open.at(-1)!)) === OPEN_OBJECT
        at++
      } else if (code === COLON || code <= 0x20) at++
      else {
        const end = skipScalar(text, at)
        this.#add(at, end, key)
        at = end
      }
    }
  }

  #add(start: number, end: number, key: number): number {
    const value = this.#count++
    if ((value + 1) * STRIDE > this.#table.length) {
      const larger = new Int32Array(this.#table.length * 2)
      larger.set(this.#table)
      this.#table = larger
    }
    const at = value * STRIDE
    this.#table[at] = start
    this.#table[at + 1] = end
    this.#table[at + 2] = this.#count
    this.#table[at + 3] = key
    return value
  }
}

/** A stretch of a text as a text of its own: a mere slice keeps all of the text that it was cut from in memory. */
export const cutOut = (text: string, start: number, end: number): string => ` ${text.slice(start, end)}`.slice(1)

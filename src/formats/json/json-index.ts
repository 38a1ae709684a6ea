import { commonPrefix } from '../../core/values.ts'
import { PlimsollError } from '../../core/errors.ts'
import { isAsStringified } from '../../core/json/as-stringified.ts'
import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  keyText,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  skipScalar,
  skipSpace,
  skipString,
  skipValue,
} from '../../core/json/lexer.ts'

/** Finds the borders of values in text that the language's own parser has already accepted. */

/**
 * Levels of a body that have spans. The deepest place that a codec edits is a field of a Gemini function response inside a
 * wrapped request; what lies below is skipped by counting brackets, so nesting costs no stack.
 */
const MAX_DEPTH = 9

/** Siblings that are walked over without being remembered, and members that are searched one by one. */
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
  /** Long lists and objects that were asked about. */
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

  /** The same without a copy: a text that is kept keeps all of the request in memory. */
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
          // A negative successor: not looked into yet.
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

/**
 * A smaller share of a text, or of the list that it went on from, is not worth it: what is new is copied before it is parsed, and the first request of a conversation often begins
 * with the instructions of another.
 */
const LEAST_SHARED = 1 / 8

/** Shorter texts are written sooner than looked for. */
const LEAST_QUOTED = 256

export interface JsonMember {
  readonly key: string
  /** Where the key's opening quote stands. */
  readonly start: number
  readonly node: JsonNode
}

/**
 * Where a JSON value stands in its text. Spans are looked up on demand: most of a body is never touched, and an object
 * for each of its values would cost several times what parsing it did.
 */
export class JsonNode {
  /** Parsed value, shared with the whole tree. */
  readonly value: unknown
  readonly #spans: () => Spans
  readonly #at: number
  #members: readonly JsonMember[] | undefined
  #items: readonly JsonNode[] | undefined
  #elements: Map<number, JsonNode> | undefined
  #byKey: ReadonlyMap<string, JsonMember> | undefined

  constructor(spans: () => Spans, at: number, value: unknown) {
    this.#spans = spans
    this.#at = at
    this.value = value
  }

  get type(): 'object' | 'array' | 'string' | 'scalar' {
    if (typeof this.value === 'string') return 'string'
    if (typeof this.value !== 'object' || this.value === null) return 'scalar'
    return Array.isArray(this.value) ? 'array' : 'object'
  }

  get start(): number {
    return this.#spans().start(this.#at)
  }

  get end(): number {
    return this.#spans().end(this.#at)
  }

  /** Undefined for what is no object, and for objects below the depth that has spans. */
  get members(): readonly JsonMember[] | undefined {
    if (this.#members === undefined && this.type === 'object') this.#members = this.#readMembers()
    return this.#members
  }

  /** The last member of that key. Large objects are looked up, since a codec asks one object once for each of its items. */
  entry(key: string): JsonMember | undefined {
    const members = this.members
    if (members === undefined || members.length <= SMALL) return members?.findLast((entry) => entry.key === key)
    this.#byKey ??= new Map(members.map((entry) => [entry.key, entry]))
    return this.#byKey.get(key)
  }

  /** Undefined for what is no array, and for arrays below the depth that has spans. */
  get items(): readonly JsonNode[] | undefined {
    if (this.#items === undefined && Array.isArray(this.value)) {
      const values = this.value as readonly unknown[]
      const children = this.#spans().children(this.#at)
      this.#items = children?.map((at, i) => new JsonNode(this.#spans, at, values[i]))
    }
    return this.#items
  }

  /** How many elements an array has; none for anything else. */
  get length(): number {
    return Array.isArray(this.value) ? this.value.length : 0
  }

  /** One element of an array, without nodes for the others. */
  at(index: number): JsonNode | undefined {
    if (!Array.isArray(this.value)) return undefined
    if (this.#items !== undefined) return this.#items[index]
    const known = this.#elements?.get(index)
    if (known !== undefined) return known
    const at = this.#spans().child(this.#at, index)
    if (at === undefined) return undefined
    const node = new JsonNode(this.#spans, at, (this.value as readonly unknown[])[index])
    this.#elements ??= new Map()
    this.#elements.set(index, node)
    return node
  }

  /** Which element of an array lies over a place in the text. */
  indexAt(place: number): number | undefined {
    const spans = this.#spans()
    const children = Array.isArray(this.value) ? (spans.children(this.#at) ?? []) : []
    let [low, high] = [0, children.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (spans.end(children[middle]!) <= place) low = middle + 1
      else high = middle
    }
    return low < children.length && spans.start(children[low]!) <= place ? low : undefined
  }

  /** The text of a value below this one, or undefined where there is none. Cheaper than nodes all the way down. */
  rawAt(path: readonly (string | number)[]): string | undefined {
    const at = this.#below(path)
    return at === undefined ? undefined : this.#spans().raw(at)
  }

  /** The same without a copy; not for keeping. */
  sliceAt(path: readonly (string | number)[]): string | undefined {
    const at = this.#below(path)
    return at === undefined ? undefined : this.#spans().slice(at)
  }

  /**
   * The literal of a text that the value at a path is, or has as a member, or as the only part of one. Undefined where there is none, and where
   * `JSON.stringify` would write it in another way. Not for keeping.
   */
  quotedAt(path: readonly (string | number)[], text: string): string | undefined {
    if (text.length < LEAST_QUOTED) return undefined
    const within = pathTo(path.reduce(fieldOf, this.value), text)
    const literal = within === undefined ? undefined : this.sliceAt(path.concat(within))
    return literal !== undefined && isAsStringified(literal) ? literal : undefined
  }

  #below(path: readonly (string | number)[]): number | undefined {
    const spans = this.#spans()
    let at: number | undefined = this.#at
    for (const step of path) {
      if (at === undefined) return undefined
      at = spans.child(at, step)
    }
    return at
  }

  /** This root's index for a text that begins as this one's does. Undefined where too little of the list is the same. */
  grownTo(text: string, own: string, list: readonly string[]): Grown | undefined {
    const shared = commonPrefix(own, text)
    const spans = this.#spans()
    const open = pathIn(spans, list)
    // What stands behind the list, tools for one, may be longer than all of it.
    const least = open === undefined ? text.length : Math.min(text.length, spans.end(open.at(-1)!))
    if (shared < LEAST_SHARED * least) return undefined
    const elements = open === undefined ? [] : (spans.children(open.at(-1)!) ?? [])
    let kept = elements.length
    while (kept > 0 && !isWithin(text, spans.end(elements[kept - 1]!), shared)) kept--
    if (open === undefined || kept === 0) return undefined
    const end = spans.end(elements[kept - 1]!)
    const rest = restAfter(text, end)
    if (rest === undefined) return undefined
    const value = parseOrNothing(text.slice(0, spans.start(elements[0]!)) + rest)
    if (value === undefined || !prepend(value, list, this.value, kept)) return undefined
    const grown = new Spans(text, { spans, open, kept: kept === elements.length ? elements : elements.slice(0, kept) })
    // A key that comes again later would make another list the list.
    if (pathIn(grown, list)?.at(-1) !== open.at(-1)) return undefined
    return { root: new JsonNode(() => grown, 0, value), kept, from: end }
  }

  #readMembers(): readonly JsonMember[] | undefined {
    const spans = this.#spans()
    const values = this.value as Record<string, unknown>
    const children = spans.children(this.#at)
    const lastOf = new Map<string, number>()
    for (const at of children ?? []) lastOf.set(spans.key(at), at)
    return children?.map((at) => {
      const key = spans.key(at)
      // Where a key is repeated the parser kept the last value; the others have only their own text.
      const value: unknown = lastOf.get(key) === at ? values[key] : JSON.parse(spans.slice(at))
      return { key, start: spans.keyStart(at), node: new JsonNode(this.#spans, at, value) }
    })
  }
}

/**
 * Parses a text and says where its values stand. The parser of the language checks the text and makes the values; the scanner
 * only has to find the borders, and only if a border is asked for.
 */
export function indexJson(text: string): JsonNode {
  if (!text.isWellFormed()) {
    throw new PlimsollError('bad-input', 'The body holds a lone surrogate, so it is no valid UTF-8 text.', {
      advice: 'Cut strings at character borders before sending them.',
    })
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new PlimsollError('bad-input', `The body is not valid JSON: ${(cause as Error).message}.`, { cause })
  }
  let spans: Spans | undefined
  return new JsonNode(() => (spans ??= new Spans(text)), 0, value)
}

/** Members that hold what an item says. */
const TEXT_KEYS = ['content', 'text', 'output', 'thinking']

/** Strings are the very ones that were parsed, so most comparisons end at the first look. */
function pathTo(value: unknown, text: string): readonly (string | number)[] | undefined {
  if (value === text) return []
  if (typeof value !== 'object' || value === null) return undefined
  for (const key of TEXT_KEYS) {
    const inner = fieldOf(value, key)
    if (inner === text) return [key]
    if (Array.isArray(inner) && inner.length === 1 && fieldOf(inner[0], 'text') === text) return [key, 0, 'text']
  }
  return undefined
}

/** A body that was indexed before. */
export interface Indexed {
  readonly text: string
  readonly root: JsonNode
}

export interface Grown {
  readonly root: JsonNode
  /** Elements of the list that are the very values of the earlier body. */
  readonly kept: number
  /** Where they end in the text, in both; 0 when there are none. */
  readonly from: number
}

/**
 * The same as `indexJson` for a body that begins as an earlier one did: clients send their whole history again, and only what is
 * new is parsed.
 */
export function indexGrown(text: string, before: Indexed | undefined, list: readonly string[]): Grown {
  return before?.root.grownTo(text, before.text, list) ?? { root: indexJson(text), kept: 0, from: 0 }
}

/** Whether these members of two bodies are written alike: whatever was read of them in one holds for the other. */
export const isWrittenAlike = (now: Indexed, before: Indexed, keys: readonly string[]): boolean =>
  keys.every((key) => {
    const [here, there] = [member(now.root, key), member(before.root, key)]
    if (here === undefined || there === undefined) return here === there
    return now.text.slice(here.start, here.end) === before.text.slice(there.start, there.end)
  })

/** UTF-8 length of a text, counted behind `from` only where an earlier text and its length are known. */
export function bytesOf(
  text: string,
  before: { readonly text: string; readonly bytes: number } | undefined,
  from: number,
): number {
  if (before === undefined || from === 0) return Buffer.byteLength(text)
  return before.bytes - Buffer.byteLength(before.text.slice(from)) + Buffer.byteLength(text.slice(from))
}

/** A value that ends where two texts part is the same in both only if nothing can be added to it. */
const isWithin = (text: string, end: number, shared: number): boolean =>
  end < shared || (end === shared && text[end - 1] === '}')

function pathIn(spans: Spans, keys: readonly string[]): number[] | undefined {
  const path = [0]
  for (const key of keys) {
    const at = spans.child(path.at(-1)!, key)
    if (at === undefined) return undefined
    path.push(at)
  }
  return path
}

/** What stands behind an element, so that it can follow the list's opening bracket; undefined where no JSON goes on like that. */
function restAfter(text: string, end: number): string | undefined {
  const next = skipSpace(text, end)
  if (text[next] === ']') return text.slice(next)
  if (text[next] !== ',') return undefined
  const after = skipSpace(text, next + 1)
  return text[after] === ']' ? undefined : text.slice(after)
}

/** Errors are the business of the parse of the whole: it knows the position. */
function parseOrNothing(text: string): unknown {
  if (!text.isWellFormed()) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Puts the first elements of an earlier body's list in front of the same list of a parsed one. */
function prepend(value: unknown, list: readonly string[], before: unknown, kept: number): boolean {
  const at = (root: unknown): unknown => list.slice(0, -1).reduce<unknown>((node, key) => fieldOf(node, key), root)
  const holder = at(value)
  const key = list.at(-1)!
  const [own, known] = [fieldOf(holder, key), fieldOf(at(before), key)]
  if (!Array.isArray(own) || !Array.isArray(known)) return false
  const all = (known as unknown[]).slice(0, kept)
  for (const element of own as unknown[]) all.push(element)
  ;(holder as Record<string, unknown>)[key] = all
  return true
}

const fieldOf = (node: unknown, key: string | number): unknown =>
  typeof node === 'object' && node !== null ? (node as Record<string | number, unknown>)[key] : undefined

/** The last member wins where a key is repeated, as in the language's own parser. */
export function member(node: JsonNode | undefined, key: string): JsonNode | undefined {
  return memberEntry(node, key)?.node
}

export function memberEntry(node: JsonNode | undefined, key: string): JsonMember | undefined {
  return node?.entry(key)
}

export const rawText = (text: string, node: JsonNode): string => cutOut(text, node.start, node.end)

/** The same JSON without the white space between its tokens. Everything else, key order and digits included, stays. */
export function compactJson(json: string): string {
  const out: string[] = []
  let from = 0
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at)
    if (code === QUOTE) at = skipString(json, at) - 1
    else if (code <= 0x20) {
      out.push(json.slice(from, at))
      at = skipSpace(json, at) - 1
      from = at + 1
    }
  }
  if (from === 0) return json
  out.push(json.slice(from))
  return out.join('')
}

import { PlimsollError } from '../../core/errors.ts'
import { keyText, QUOTE, skipSpace, skipString, skipValue, type Span } from '../../core/json/lexer.ts'
import { commonPrefix, parsedJson } from '../../core/values.ts'

/** Finds where values begin and end in text that `JSON.parse` has already accepted. */

export interface JsonMember {
  readonly key: string
  /** The position of the key's opening quote. */
  readonly start: number
  readonly node: JsonNode
}

/** A list with its elements. When a text has grown, the elements of the earlier text are reused instead of being searched again. */
interface KnownList extends Span {
  readonly elements: readonly Span[]
}

/**
 * A JSON value and its position in the text. Its contents are located when they are needed, one level at a time, because most of a body is never
 * read.
 */
export class JsonNode implements Span {
  readonly start: number
  readonly end: number
  /** The parsed value, shared with the whole tree. */
  readonly value: unknown
  readonly type: 'object' | 'array' | 'string' | 'scalar'
  /** The number of elements of an array; 0 for other values. */
  readonly length: number
  readonly text: string
  readonly #known: KnownList | undefined
  #members: readonly JsonMember[] | undefined
  #byKey: ReadonlyMap<string, JsonMember> | undefined
  #elements: readonly Span[] | undefined
  readonly #nodes: JsonNode[] = []

  constructor(text: string, { start, end }: Span, value: unknown, known?: KnownList) {
    this.text = text
    this.#known = known
    this.start = start
    this.end = end
    this.value = value
    this.length = Array.isArray(value) ? value.length : 0
    const isObject = typeof value === 'object' && value !== null
    this.type = Array.isArray(value) ? 'array' : isObject ? 'object' : typeof value === 'string' ? 'string' : 'scalar'
  }

  get raw(): string {
    return cutOut(this.text, this.start, this.end)
  }

  /** Undefined for a value that is not an object. */
  get members(): readonly JsonMember[] | undefined {
    if (this.#members !== undefined || this.type !== 'object') return this.#members
    const { text } = this
    const known = this.#known
    const values = this.value as Record<string, unknown>
    const found: (Span & { readonly key: string; readonly keyStart: number })[] = []
    const lastOf = new Map<string, number>()
    for (let at = skipSpace(text, this.start + 1); text[at] !== '}'; at = behind(text, found.at(-1)!.end)) {
      const keyEnd = skipString(text, at)
      const start = skipSpace(text, skipSpace(text, keyEnd) + 1)
      const end = start === known?.start ? known.end : skipValue(text, start)
      const key = keyText(text, { keyStart: at, keyEnd })
      lastOf.set(key, found.push({ key, keyStart: at, start, end }) - 1)
    }
    this.#members = found.map(({ key, keyStart, start, end }, i) => {
      // For a repeated key, `JSON.parse` keeps the last value, so earlier ones are parsed separately.
      const value: unknown = lastOf.get(key) === i ? values[key] : JSON.parse(text.slice(start, end))
      return { key, start: keyStart, node: new JsonNode(text, { start, end }, value, known) }
    })
    this.#byKey = new Map(this.#members.map((member) => [member.key, member]))
    return this.#members
  }

  /** The last member with this key; like `JSON.parse`, the last one is used. */
  entry(key: string): JsonMember | undefined {
    return this.members && this.#byKey!.get(key)
  }

  /** The spans of an array's elements; empty for other values. */
  get elements(): readonly Span[] {
    if (this.type !== 'array') return []
    const known = this.#known
    return (this.#elements ??= (known?.start === this.start ? known : listAt(this.text, this.start)).elements)
  }

  /** Undefined for a value that is not an array. */
  get items(): readonly JsonNode[] | undefined {
    return this.type === 'array' ? this.elements.map((_, index) => this.at(index)!) : undefined
  }

  /** One element of an array, without creating nodes for the others. */
  at(index: number): JsonNode | undefined {
    const span = this.elements[index]
    if (span === undefined) return undefined
    return (this.#nodes[index] ??= new JsonNode(this.text, span, (this.value as unknown[])[index], this.#known))
  }

  /** The value at a path below this one. */
  below(path: readonly (string | number)[]): JsonNode | undefined {
    const [step, ...rest] = path
    if (step === undefined) return this
    return (typeof step === 'number' ? this.at(step) : this.entry(step)?.node)?.below(rest)
  }
}

/** The position of the next value or key after one that ended here, or of the closing bracket. */
function behind(text: string, end: number): number {
  const at = skipSpace(text, end)
  return text[at] === ',' ? skipSpace(text, at + 1) : at
}

/** The elements of the list at `start`, of which some may be known. */
function listAt(text: string, start: number, known: readonly Span[] = []): KnownList {
  const elements = [...known]
  const last = known.at(-1)
  let at = last === undefined ? skipSpace(text, start + 1) : behind(text, last.end)
  while (text[at] !== ']') {
    const end = skipValue(text, at)
    elements.push({ start: at, end })
    at = behind(text, end)
  }
  return { start, end: at + 1, elements }
}

/** Copies a part of a text: a plain slice would keep the whole original text in memory. */
export const cutOut = (text: string, start: number, end: number): string => ` ${text.slice(start, end)}`.slice(1)

const rootOf = (text: string, value: unknown, known?: KnownList): JsonNode =>
  new JsonNode(text, { start: skipSpace(text, 0), end: text.trimEnd().length }, value, known)

/** Parses a text with `JSON.parse`, which checks it, and locates its values. */
export function indexJson(text: string): JsonNode {
  if (!text.isWellFormed()) {
    throw new PlimsollError('bad-input', 'The body holds a lone surrogate, so it is no valid UTF-8 text.', {
      advice: 'Cut strings at character borders before sending them.',
    })
  }
  try {
    return rootOf(text, JSON.parse(text))
  } catch (cause) {
    throw new PlimsollError('bad-input', `The body is not valid JSON: ${(cause as Error).message}.`, { cause })
  }
}

/**
 * The same for a body that may begin like an earlier one: clients send their whole history again, and only the new part is parsed. The `kept`
 * leading elements of the list at `path` are the earlier body's values.
 */
export function indexGrown(
  text: string,
  before: JsonNode | undefined,
  path: readonly string[],
): { readonly root: JsonNode; readonly kept: number } {
  const list = before?.below(path)
  const shared = list === undefined ? 0 : commonPrefix(before!.text, text)
  // An element that ends where the two texts begin to differ is only the same if nothing can be appended to it.
  const isKept = ({ end }: Span): boolean => end < shared || (end === shared && text[end - 1] === '}')
  const known = list?.elements.slice(0, list.elements.findLastIndex(isKept) + 1) ?? []
  const root = known.length === 0 ? undefined : rootAfter(text, list!, known, path)
  return root === undefined ? { root: indexJson(text), kept: 0 } : { root, kept: known.length }
}

/** Parses a text without the known elements of a list. Errors are left to the parse of the whole text, which knows the position. */
function rootAfter(
  text: string,
  before: JsonNode,
  known: readonly Span[],
  path: readonly string[],
): JsonNode | undefined {
  const { end } = known.at(-1)!
  const next = behind(text, end)
  const isComma = text[skipSpace(text, end)] === ','
  // A comma must be followed by an element, and otherwise the list must end; anything else is invalid JSON.
  if (isComma === (text[next] === ']') || !text.isWellFormed()) return undefined
  const value = parsedJson(text.slice(0, known[0]!.start) + text.slice(next))
  const holder = path.slice(0, -1).reduce<unknown>(fieldOf, value)
  const key = path.at(-1)!
  const added = fieldOf(holder, key)
  if (!Array.isArray(added)) return undefined
  ;(holder as Record<string, unknown>)[key] = (before.value as unknown[]).slice(0, known.length).concat(added)
  const list = listAt(text, before.start, known)
  const root = rootOf(text, value, list)
  // If the key is repeated later, another list counts.
  return root.below(path)?.start === list.start ? root : undefined
}

const fieldOf = (node: unknown, key: string): unknown =>
  typeof node === 'object' && node !== null ? (node as Record<string, unknown>)[key] : undefined

export const member = (node: JsonNode | undefined, key: string): JsonNode | undefined => node?.entry(key)?.node

/** The same JSON without white space between tokens; key order and digits stay unchanged. */
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

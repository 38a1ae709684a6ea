import { PlimsollError } from '../../core/errors.ts'
import { keyText, QUOTE, skipSpace, skipString, skipValue, type Span } from '../../core/json/lexer.ts'
import { commonPrefix, parsedJson } from '../../core/values.ts'

/** Finds the borders of values in text that the language's own parser has already accepted. */

export interface JsonMember {
  readonly key: string
  /** Where the key's opening quote stands. */
  readonly start: number
  readonly node: JsonNode
}

/** A list with its elements. A text that grew knows those of the text before: what a client sends again is not walked over again. */
interface KnownList extends Span {
  readonly elements: readonly Span[]
}

/** Where a JSON value stands in its text. What lies inside is looked up on demand, one level at a time: most of a body is never touched. */
export class JsonNode implements Span {
  readonly start: number
  readonly end: number
  /** Parsed value, shared with the whole tree. */
  readonly value: unknown
  readonly type: 'object' | 'array' | 'string' | 'scalar'
  /** How many elements an array has; none for anything else. */
  readonly length: number
  /** The text of all of the body. */
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

  /** The value as it is written. */
  get raw(): string {
    return cutOut(this.text, this.start, this.end)
  }

  /** Undefined for what is no object. */
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
      // Where a key is repeated the parser kept the last value; the others have only their own text.
      const value: unknown = lastOf.get(key) === i ? values[key] : JSON.parse(text.slice(start, end))
      return { key, start: keyStart, node: new JsonNode(text, { start, end }, value, known) }
    })
    this.#byKey = new Map(this.#members.map((member) => [member.key, member]))
    return this.#members
  }

  /** The last member of that key: it wins where a key is repeated, as in the language's own parser. */
  entry(key: string): JsonMember | undefined {
    return this.members && this.#byKey!.get(key)
  }

  /** Where the elements of an array stand; none for anything else. */
  get elements(): readonly Span[] {
    if (this.type !== 'array') return []
    const known = this.#known
    return (this.#elements ??= (known?.start === this.start ? known : listAt(this.text, this.start)).elements)
  }

  /** Undefined for what is no array. */
  get items(): readonly JsonNode[] | undefined {
    return this.type === 'array' ? this.elements.map((_, index) => this.at(index)!) : undefined
  }

  /** One element of an array, without nodes for the others. */
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

/** Where the next value or key begins behind one that ended here, or the bracket that ends them all. */
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

/** A stretch of a text as a text of its own: a mere slice keeps all of the text that it was cut from in memory. */
export const cutOut = (text: string, start: number, end: number): string => ` ${text.slice(start, end)}`.slice(1)

const rootOf = (text: string, value: unknown, known?: KnownList): JsonNode =>
  new JsonNode(text, { start: skipSpace(text, 0), end: text.trimEnd().length }, value, known)

/** Parses a text and says where its values stand. The parser of the language checks it and makes the values. */
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
 * The same for a body that may begin as an earlier one did: clients send their whole history again, and only what is new is parsed.
 * `kept` elements of the list at `path` are the very values of the earlier body.
 */
export function indexGrown(
  text: string,
  before: JsonNode | undefined,
  path: readonly string[],
): { readonly root: JsonNode; readonly kept: number } {
  const list = before?.below(path)
  const shared = list === undefined ? 0 : commonPrefix(before!.text, text)
  // An element that ends where the two texts part is the same in both only if nothing can be added to it.
  const isKept = ({ end }: Span): boolean => end < shared || (end === shared && text[end - 1] === '}')
  const known = list?.elements.slice(0, list.elements.findLastIndex(isKept) + 1) ?? []
  const root = known.length === 0 ? undefined : rootAfter(text, list!, known, path)
  return root === undefined ? { root: indexJson(text), kept: 0 } : { root, kept: known.length }
}

/** Parses a text without the known elements of a list. Errors are left to the parse of the whole: it knows the position. */
function rootAfter(
  text: string,
  before: JsonNode,
  known: readonly Span[],
  path: readonly string[],
): JsonNode | undefined {
  const { end } = known.at(-1)!
  const next = behind(text, end)
  const isComma = text[skipSpace(text, end)] === ','
  // A comma with an element behind it, or the end of the list; anything else is no JSON.
  if (isComma === (text[next] === ']') || !text.isWellFormed()) return undefined
  const value = parsedJson(text.slice(0, known[0]!.start) + text.slice(next))
  const holder = path.slice(0, -1).reduce<unknown>(fieldOf, value)
  const key = path.at(-1)!
  const added = fieldOf(holder, key)
  if (!Array.isArray(added)) return undefined
  ;(holder as Record<string, unknown>)[key] = (before.value as unknown[]).slice(0, known.length).concat(added)
  const list = listAt(text, before.start, known)
  const root = rootOf(text, value, list)
  // A key that comes again later would make another list the list.
  return root.below(path)?.start === list.start ? root : undefined
}

const fieldOf = (node: unknown, key: string): unknown =>
  typeof node === 'object' && node !== null ? (node as Record<string, unknown>)[key] : undefined

export const member = (node: JsonNode | undefined, key: string): JsonNode | undefined => node?.entry(key)?.node

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

import { PlimsollError } from '../../core/errors.ts'

/**
 * What a JSON body may hold. Providers take far less, and agents send far less; beyond it reading holds up everybody else: nesting costs a parser
 * much more than its bytes say, and so do millions of values, objects with many names, and lists that every step of a request goes through.
 */
export const BODY_BOUNDS = {
  /** Lists and objects inside each other. */
  levels: 1_000,
  values: 1_000_000,
  /** Names in one object. */
  names: 50_000,
  /** Entries of one list near the root: messages, and the parts of one. */
  messages: 50_000,
  tools: 5_000,
} as const

export type BodyBound = keyof typeof BODY_BOUNDS

/** Smaller bodies are read fast, whatever they contain. */
const SMALL_BYTES = 64 * 1024
/** Lists that are deeper belong to what a tool gave. */
const LIST_LEVELS = 4
const TOOL_LISTS = new Set(['tools', 'functions', 'functionDeclarations', 'function_declarations'])
const MOST_KEY_BYTES = 32
const LONG_STRING = 64

const [QUOTE, BACKSLASH, COMMA, COLON] = [34, 92, 44, 58]
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [91, 93, 123, 125]

/**
 * Counts what bytes hold as JSON, in one pass and without reading them; text that is no JSON gives some count as well. Bytes may be pushed in
 * pieces.
 */
export class BodyCount {
  /** The first bound that was passed. */
  passed: BodyBound | undefined
  #depth = 0
  #values = 0
  #isInString = false
  #isEscaped = false
  /** Entries of what is open, and how many of them there may be, by depth. */
  readonly #entries: number[] = []
  readonly #most: BodyBound[] = []
  /** The last text of each piece of structure: a name, when a colon follows. */
  readonly #word: number[] = []
  #name = ''

  push(bytes: Uint8Array): void {
    for (let i = 0; i < bytes.length && this.passed === undefined; i++) {
      const byte = bytes[i]!
      if (this.#isInString) i = this.#endOfString(bytes, i)
      else if (byte === QUOTE) {
        this.#isInString = true
        this.#word.length = 0
      } else if (byte === COMMA) this.#next()
      else if (byte === OPEN_LIST || byte === OPEN_OBJECT) this.#open(byte === OPEN_LIST)
      else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) this.#depth = Math.max(0, this.#depth - 1)
      else if (byte === COLON && this.#depth <= LIST_LEVELS) this.#name = String.fromCharCode(...this.#word)
    }
  }

  /** Where the string ends, or the bytes do. */
  #endOfString(bytes: Uint8Array, from: number): number {
    let room = this.#depth <= LIST_LEVELS ? MOST_KEY_BYTES - this.#word.length : 0
    let isEscaped = this.#isEscaped
    let plain = 0
    let i = from
    for (; i < bytes.length; i++) {
      const byte = bytes[i]!
      if (isEscaped) isEscaped = false
      else if (byte === BACKSLASH) isEscaped = true
      else if (byte === QUOTE) break
      else if (room-- > 0) this.#word.push(byte)
      else if (++plain > LONG_STRING) {
        // Most bytes of a body stand in long texts: the runtime finds their ends much faster. A quote behind a backslash is looked at once more.
        const quote = bytes.indexOf(QUOTE, i)
        i = lastPlain(bytes, i, quote < 0 ? bytes.length : quote)
        plain = 0
      }
    }
    this.#isEscaped = isEscaped
    this.#isInString = i === bytes.length
    return i
  }

  #next(): void {
    const depth = this.#depth
    const bound = this.#most[depth] ?? 'values'
    if (++this.#values > BODY_BOUNDS.values) this.passed = 'values'
    else if ((this.#entries[depth] = (this.#entries[depth] ?? 1) + 1) > BODY_BOUNDS[bound]) this.passed = bound
  }

  #open(isList: boolean): void {
    const depth = ++this.#depth
    if (++this.#values > BODY_BOUNDS.values) this.passed = 'values'
    if (depth > BODY_BOUNDS.levels) this.passed = 'levels'
    this.#entries[depth] = 1
    if (!isList) this.#most[depth] = 'names'
    else if (depth > LIST_LEVELS) this.#most[depth] = 'values'
    else this.#most[depth] = TOOL_LISTS.has(this.#name) ? 'tools' : 'messages'
  }
}

/** The last byte before `end` that is no backslash, from `start` on. */
function lastPlain(bytes: Uint8Array, start: number, end: number): number {
  let at = end - 1
  while (at > start && bytes[at] === BACKSLASH) at--
  return at
}

/** Whether an answer holds more than is read of one. */
export function isOverBounds(text: Uint8Array | string): boolean {
  if (text.length < SMALL_BYTES) return false
  const count = new BodyCount()
  count.push(typeof text === 'string' ? Buffer.from(text) : text)
  return count.passed !== undefined
}

/** Bytes that are counted before other requests get their turn. */
const SLICE_BYTES = 4 * 1024 * 1024

/** @throws PlimsollError `too-large` for a body that holds more than is read of one. */
export async function checkBody(bytes: Uint8Array, pause: () => Promise<void>): Promise<void> {
  if (bytes.length < SMALL_BYTES) return
  const count = new BodyCount()
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    if (at > 0) await pause()
    count.push(bytes.subarray(at, at + SLICE_BYTES))
    if (count.passed !== undefined) throw overBound(count.passed)
  }
}

const WHAT: Readonly<Record<BodyBound, string>> = {
  levels: 'lists and objects inside each other',
  values: 'values',
  names: 'names in one object',
  messages: 'entries in one list of messages or parts',
  tools: 'tools',
}

function overBound(bound: BodyBound): PlimsollError {
  const most = BODY_BOUNDS[bound]
  return new PlimsollError(
    'too-large',
    `The body holds more than ${most.toLocaleString('en')} ${WHAT[bound]}; this proxy reads no more.`,
    { advice: 'Send less, or send it with the header x-plimsoll-policy: off.', fields: { bound, most } },
  )
}

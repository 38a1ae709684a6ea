import { PlimsollError } from '../core/errors.ts'

/** Where a JSON value stands in its text. Children are there down to the depth that was asked for. */
export interface JsonNode {
  readonly type: 'object' | 'array' | 'string' | 'scalar'
  readonly start: number
  readonly end: number
  /** Parsed value, shared with the whole tree. */
  readonly value: unknown
  readonly members?: readonly JsonMember[]
  readonly items?: readonly JsonNode[]
}

export interface JsonMember {
  readonly key: string
  /** Where the key's opening quote stands. */
  readonly start: number
  readonly node: JsonNode
}

/**
 * Parses a text and says where every value stands, `depth` levels deep. The parser of the language checks the text and
 * makes the values; the scanner below only has to find the borders, so it may assume valid JSON.
 */
export function indexJson(text: string, depth: number): JsonNode {
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
  return scanValue(text, skipSpace(text, 0), depth, value)
}

/** The last member wins where a key is repeated, as in the language's own parser. */
export function member(node: JsonNode | undefined, key: string): JsonNode | undefined {
  return memberEntry(node, key)?.node
}

export function memberEntry(node: JsonNode | undefined, key: string): JsonMember | undefined {
  const members = node?.members
  if (members === undefined) return undefined
  for (let i = members.length - 1; i >= 0; i--) if (members[i]!.key === key) return members[i]
  return undefined
}

export const rawText = (text: string, node: JsonNode): string => text.slice(node.start, node.end)

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d

// Recursion is bounded by `depth`; what lies deeper is skipped by counting brackets.
function scanValue(text: string, start: number, depth: number, value: unknown): JsonNode {
  const code = text.charCodeAt(start)
  if (code === QUOTE) return { type: 'string', start, end: skipString(text, start), value }
  if (code === OPEN_OBJECT) {
    if (depth <= 0) return { type: 'object', start, end: skipContainer(text, start), value }
    return scanObject(text, start, depth, value as Record<string, unknown>)
  }
  if (code === OPEN_ARRAY) {
    if (depth <= 0) return { type: 'array', start, end: skipContainer(text, start), value }
    return scanArray(text, start, depth, value as readonly unknown[])
  }
  return { type: 'scalar', start, end: skipScalar(text, start), value }
}

function scanObject(text: string, start: number, depth: number, value: Record<string, unknown>): JsonNode {
  const members: JsonMember[] = []
  let at = skipSpace(text, start + 1)
  while (text.charCodeAt(at) !== CLOSE_OBJECT) {
    const keyEnd = skipString(text, at)
    const raw = text.slice(at + 1, keyEnd - 1)
    const key = raw.includes('\\') ? (JSON.parse(text.slice(at, keyEnd)) as string) : raw
    const node = scanValue(text, skipSpace(text, skipSpace(text, keyEnd) + 1), depth - 1, value[key])
    members.push({ key, start: at, node })
    at = skipSpace(text, node.end)
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1)
  }
  return { type: 'object', start, end: at + 1, value, members }
}

function scanArray(text: string, start: number, depth: number, value: readonly unknown[]): JsonNode {
  const items: JsonNode[] = []
  let at = skipSpace(text, start + 1)
  while (text.charCodeAt(at) !== CLOSE_ARRAY) {
    const node = scanValue(text, at, depth - 1, value[items.length])
    items.push(node)
    at = skipSpace(text, node.end)
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1)
  }
  return { type: 'array', start, end: at + 1, value, items }
}

function skipSpace(text: string, from: number): number {
  let at = from
  for (;;) {
    const code = text.charCodeAt(at)
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at
    at++
  }
}

function skipString(text: string, start: number): number {
  let at = start
  for (;;) {
    at = text.indexOf('"', at + 1)
    let slashes = 0
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes++
    if (slashes % 2 === 0) return at + 1
  }
}

function skipContainer(text: string, start: number): number {
  let open = 0
  for (let at = start; ; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = skipString(text, at) - 1
    else if (code === OPEN_OBJECT || code === OPEN_ARRAY) open++
    else if ((code === CLOSE_OBJECT || code === CLOSE_ARRAY) && --open === 0) return at + 1
  }
}

function skipScalar(text: string, start: number): number {
  let at = start
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === COMMA || code === CLOSE_OBJECT || code === CLOSE_ARRAY || code <= 0x20) break
  }
  return at
}

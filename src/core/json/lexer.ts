/**
 * The only lexer for JSON text. It walks spans without building values, since 100 MB of JSON would be a gigabyte of objects, and does not recurse, so
 * that a million nested brackets are only slow. It does not check syntax; a caller that needs that parses the (small) pieces.
 */
export interface Span {
  readonly start: number
  readonly end: number
}

export const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const BACKSLASH = 0x5c
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

export function skipSpace(text: string, at: number): number {
  for (;;) {
    const code = text.charCodeAt(at)
    if (code === 32 || code === 10 || code === 13 || code === 9) at++
    else return at
  }
}

/** Index after the string whose opening quote is at `at`; -1 when it never ends. */
export function skipString(text: string, at: number): number {
  let end = text.indexOf('"', at + 1)
  while (end >= 0) {
    let slashes = 0
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes++
    if (slashes % 2 === 0) return end + 1
    end = text.indexOf('"', end + 1)
  }
  return -1
}

/** Index after the value that starts at `at`; -1 when it never ends. */
export function skipValue(text: string, at: number): number {
  const first = text.charCodeAt(at)
  if (first === QUOTE) return skipString(text, at)
  if (first !== OPEN_ARRAY && first !== OPEN_OBJECT) {
    // A number or a word.
    let end = at
    for (; end < text.length; end++) {
      const code = text.charCodeAt(end)
      if (code === COMMA || code === CLOSE_ARRAY || code === CLOSE_OBJECT || code <= 32 || code === COLON) break
    }
    return end > at ? end : -1
  }
  let depth = 0
  for (let i = at; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) {
      i = skipString(text, i) - 1
      if (i < 0) return -1
    } else if (code === OPEN_ARRAY || code === OPEN_OBJECT) depth++
    else if ((code === CLOSE_ARRAY || code === CLOSE_OBJECT) && --depth === 0) return i + 1
  }
  return -1
}

export const isArrayAt = (text: string, at: number): boolean => text.charCodeAt(at) === OPEN_ARRAY
export const isObjectAt = (text: string, at: number): boolean => text.charCodeAt(at) === OPEN_OBJECT

/** Calls `visit` for each item of the array at `at`. Returns the index after it, or -1 for broken text. */
export function eachItem(
  text: string,
  at: number,
  visit: (start: number, end: number, index: number) => boolean | void,
): number {
  let i = skipSpace(text, at + 1)
  if (text.charCodeAt(i) === CLOSE_ARRAY) return i + 1
  for (let index = 0; ; index++) {
    const end = skipValue(text, i)
    if (end < 0) return -1
    if (visit(i, end, index) === false) return end
    i = skipSpace(text, end)
    const code = text.charCodeAt(i)
    if (code === CLOSE_ARRAY) return i + 1
    if (code !== COMMA) return -1
    i = skipSpace(text, i + 1)
  }
}

export interface EntrySpan extends Span {
  /** The key with its quotes, as written. */
  readonly keyStart: number
  readonly keyEnd: number
}

/** Calls `visit` for each entry of the object at `at`. Returns the index after it, or -1 for broken text. */
export function eachEntry(
  text: string,
  at: number,
  visit: (entry: EntrySpan, index: number) => boolean | void,
): number {
  let i = skipSpace(text, at + 1)
  if (text.charCodeAt(i) === CLOSE_OBJECT) return i + 1
  for (let index = 0; ; index++) {
    if (text.charCodeAt(i) !== QUOTE) return -1
    const keyEnd = skipString(text, i)
    if (keyEnd < 0) return -1
    const colon = skipSpace(text, keyEnd)
    if (text.charCodeAt(colon) !== COLON) return -1
    const start = skipSpace(text, colon + 1)
    const end = skipValue(text, start)
    if (end < 0) return -1
    if (visit({ keyStart: i, keyEnd, start, end }, index) === false) return end
    i = skipSpace(text, end)
    const code = text.charCodeAt(i)
    if (code === CLOSE_OBJECT) return i + 1
    if (code !== COMMA) return -1
    i = skipSpace(text, i + 1)
  }
}

/** The span of the text's only value; undefined when it is not exactly one balanced value. */
export function rootSpan(text: string, from = 0): Span | undefined {
  const start = skipSpace(text, from)
  if (start >= text.length) return undefined
  const end = skipValue(text, start)
  if (end < 0 || skipSpace(text, end) < text.length) return undefined
  return { start, end }
}

/** A key's text, parsed only when it contains an escape. */
export function keyText(text: string, { keyStart, keyEnd }: Pick<EntrySpan, 'keyStart' | 'keyEnd'>): string {
  const quoted = text.slice(keyStart, keyEnd)
  const raw = quoted.slice(1, -1)
  return raw.includes('\\') ? (stringOf(parsedJson(quoted)) ?? raw) : raw
}
import { parsedJson, stringOf } from '../values.ts'

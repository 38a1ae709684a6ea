import type { ModelResponse, StopReason, StreamEvent, StreamReducer } from '../../core/codec.ts'
import type { Usage } from '../../core/usage.ts'
import { type Fields, isRecord, parsedJson, recordOf, textOf } from '../../core/values.ts'
import { SSE_DONE } from '../framing.ts'
import { isOverBounds } from '../json/bounds.ts'

/** An object of JSON that is being put together. */
export type MutableFields = Record<string, unknown>

/** Adds a piece to a member's text; anything else that a server may put there is no text. */
export function addText(fields: MutableFields, name: string, piece: unknown): void {
  if (typeof piece === 'string') fields[name] = textOf(fields[name]) + piece
}

/** The same for each member of an object. */
export function addTexts(fields: MutableFields, pieces: Fields | undefined): void {
  for (const [name, piece] of Object.entries(pieces ?? {})) addText(fields, name, piece)
}

/** The payload of one event, or undefined for keep-alives and noise. */
export const parseEvent = (data: string): Fields | undefined =>
  isOverBounds(data) ? undefined : recordOf(parsedJson(data))

/** What a reducer has seen. Plain fields: getters of its own would keep it, with the whole answer, until the next full collection. */
interface Seen {
  done: boolean
  error?: unknown
}

/** Puts a streamed answer together again: `take` reads an event, `body` gives the whole answer so far. */
export function reducer(
  read: (body: Fields) => ModelResponse,
  body: () => Fields,
  take: (event: Fields, seen: Seen, name: string | undefined) => void,
): StreamReducer {
  const seen: Seen = { done: false }
  return Object.assign(seen, {
    push({ event: name, data }: StreamEvent): void {
      if (data.trim() === SSE_DONE) seen.done = true
      const event = parseEvent(data)
      if (event === undefined) return
      if ((event['error'] ?? undefined) !== undefined || event['type'] === 'error' || name === 'error')
        seen.error = event['error'] ?? event
      else take(event, seen, name)
    },
    body,
    response: () => read(body()),
  })
}

/**
 * Things that a stream numbers itself, in the order of their numbers. They stand in no array: the numbers come from outside, and one of a
 * thousand million would leave as many holes to walk over.
 */
export const inOrder = <T>(things: ReadonlyMap<number, T>): T[] =>
  [...things].sort(([a], [b]) => a - b).map(([, thing]) => thing)

/** The error of a body that has one under `error`, or is one. */
export function plainErrorIn(body: Fields): unknown {
  if (typeof body['error'] === 'string' || isRecord(body['error'])) return body['error']
  return body['object'] === 'error' || body['type'] === 'error' ? body : undefined
}

/**
 * A report without prompt tokens is none: a server that counts nothing sends zeros, and no prompt is empty. Neither is one whose prompt or
 * answer is said to be negative or no number; parts of them that are wrong count as not said.
 */
export function knownUsage(read: (reported: Fields) => Usage, reported: unknown): Usage | undefined {
  const fields = recordOf(reported)
  if (fields === undefined) return undefined
  const { cacheWriteLong, ...usage } = read(fields)
  if (!(usage.input > 0 && usage.output >= 0)) return undefined
  return {
    input: usage.input,
    cacheRead: usage.cacheRead || 0,
    cacheWrite: usage.cacheWrite || 0,
    cacheWriteLong: cacheWriteLong === undefined ? undefined : cacheWriteLong || 0,
    output: usage.output,
    reasoning: usage.reasoning || 0,
  }
}

/** A wire's word for why an answer ended: the first that means it, or else the first of all. */
export const stopWord = (words: Readonly<Record<string, StopReason>>, stop: StopReason): string =>
  Object.keys(words).find((word) => words[word] === stop) ?? Object.keys(words)[0]!

export const nested = (fields: Fields, name: string): Fields => recordOf(fields[name]) ?? {}

/** What is not said is none; NaN stands for what is negative or no number. */
export function amount(fields: Fields, name: string): number {
  const value = fields[name] ?? 0
  return typeof value === 'number' && value >= 0 && Number.isFinite(value) ? value : NaN
}

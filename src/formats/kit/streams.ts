import type { ModelResponse, StopReason, StreamEvent, StreamReducer } from '../../core/codec.ts'
import type { Usage } from '../../core/usage.ts'
import { type Fields, isRecord, parsedJson, recordOf, textOf } from '../../core/values.ts'
import { SSE_DONE } from '../framing.ts'

/** A JSON object that is being assembled. */
export type MutableFields = Record<string, unknown>

/** Appends text to a member; values that are not text are ignored. */
export function addText(fields: MutableFields, name: string, piece: unknown): void {
  if (typeof piece === 'string') fields[name] = textOf(fields[name]) + piece
}

/** The same for each member of an object. */
export function addTexts(fields: MutableFields, pieces: Fields | undefined): void {
  for (const [name, piece] of Object.entries(pieces ?? {})) addText(fields, name, piece)
}

/** The payload of one event; undefined for keep-alives and invalid data. */
export const parseEvent = (data: string): Fields | undefined => recordOf(parsedJson(data))

/** What a reducer returns. Its fields are plain: getters would keep the reducer and the whole answer in memory until the next full collection. */
interface Seen {
  done: boolean
  error?: unknown
}

/** Creates a reducer: `take` reads an event, `body` returns the answer so far. */
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
 * Entries in the order of the numbers that a stream gives them. In a map, because with an array a hostile number of a thousand million would leave
 * as many holes to iterate over.
 */
export const inOrder = <T>(things: ReadonlyMap<number, T>): T[] =>
  [...things].sort(([a], [b]) => a - b).map(([, thing]) => thing)

/** The member `error` of a body, or the body itself if it is an error. */
export function plainErrorIn(body: Fields): unknown {
  if (typeof body['error'] === 'string' || isRecord(body['error'])) return body['error']
  return body['object'] === 'error' || body['type'] === 'error' ? body : undefined
}

/**
 * Reads reported usage. Undefined without prompt tokens, because servers that do not count send zeros, and for prompt or answer tokens that are
 * negative or not a number; other wrong numbers count as absent.
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

/** A wire's word for a stop reason: the first with this meaning, or else the first of all. */
export const stopWord = (words: Readonly<Record<string, StopReason>>, stop: StopReason): string =>
  Object.keys(words).find((word) => words[word] === stop) ?? Object.keys(words)[0]!

export const nested = (fields: Fields, name: string): Fields => recordOf(fields[name]) ?? {}

/** A reported number: 0 when absent, NaN when negative or not a number. */
export function amount(fields: Fields, name: string): number {
  const value = fields[name] ?? 0
  return typeof value === 'number' && value >= 0 && Number.isFinite(value) ? value : NaN
}

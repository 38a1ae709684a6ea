import type { ModelResponse, StreamEvent, StreamReducer } from '../../core/codec.ts'
import type { Usage } from '../../core/usage.ts'
import { type Fields, isRecord, parsedJson, recordOf } from '../../core/values.ts'
import { SSE_DONE } from '../framing.ts'

/** An object of JSON that is being put together. */
export type MutableFields = Record<string, unknown>

/** Texts that arrive in pieces under a name; each is joined once, when it is asked for. */
export class Pieces {
  readonly #pieces = new Map<string, string[]>()

  /** Takes strings; anything else a server may put there is no text. */
  add(name: string, piece: unknown): void {
    if (typeof piece !== 'string') return
    const known = this.#pieces.get(name)
    if (known === undefined) this.#pieces.set(name, [piece])
    else known.push(piece)
  }

  /** The same for each member of an object. */
  addAll(prefix: string, members: Fields | undefined): void {
    for (const [name, piece] of Object.entries(members ?? {})) this.add(prefix + name, piece)
  }

  text(name: string): string | undefined {
    return this.#pieces.get(name)?.join('')
  }

  /** The joined texts whose names begin with `prefix` and have no further dot. */
  under(prefix: string): MutableFields {
    const out: MutableFields = {}
    for (const [name, pieces] of this.#pieces) {
      const rest = name.slice(prefix.length)
      if (name.startsWith(prefix) && !rest.includes('.')) out[rest] = pieces.join('')
    }
    return out
  }
}

let last: { readonly data: string; readonly value: Fields | undefined } | undefined

/**
 * The payload of one event, or undefined for keep-alives and noise. Several readers look at each event of a stream one after
 * another, so the last one is kept; what is handed out is not changed.
 */
export function parseEvent(data: string): Fields | undefined {
  if (last === undefined || last.data !== data) last = { data, value: recordOf(parsedJson(data)) }
  return last.value
}

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

export const nested = (fields: Fields, name: string): Fields => recordOf(fields[name]) ?? {}

/** What is not said is none; NaN stands for what is negative or no number. */
export function amount(fields: Fields, name: string): number {
  const value = fields[name] ?? 0
  return typeof value === 'number' && value >= 0 && Number.isFinite(value) ? value : NaN
}

import { type Fields, recordOf } from '../../core/values.ts'

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

  /** Replaces what arrived so far: a closing event can repeat the whole. */
  set(name: string, text: string): void {
    this.#pieces.set(name, [text])
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
  if (last === undefined || last.data !== data) last = { data, value: parse(data) }
  return last.value
}

function parse(data: string): Fields | undefined {
  try {
    return recordOf(JSON.parse(data))
  } catch {
    return undefined
  }
}

/**
 * Things that a stream numbers itself, in the order of their numbers. Not an array: the numbers come from outside, and one of a
 * thousand million would leave as many holes to walk over.
 */
export class Numbered<T> {
  readonly #things = new Map<number, T>()

  get size(): number {
    return this.#things.size
  }

  get(index: number): T | undefined {
    return this.#things.get(index)
  }

  set(index: number, thing: T): T {
    this.#things.set(index, thing)
    return thing
  }

  inOrder(): T[] {
    return [...this.#things].sort(([a], [b]) => a - b).map(([, thing]) => thing)
  }
}

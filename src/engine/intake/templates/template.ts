import { cutHead } from '../text.ts'

/** A statistical summary of records, fed one at a time so that its input is never held. */
export interface Template {
  readonly name: string
  add(record: unknown): void
  /** Plain JSON; the order of keys is the order of importance. */
  finish(): Record<string, unknown>
}

/** First present field of several spellings. */
export function pick(record: Record<string, unknown>, ...keys: readonly string[]): unknown {
  for (const key of keys) if (record[key] !== undefined && record[key] !== null) return record[key]
  return undefined
}

export function text(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
}

/** Numbers often travel as text in monitoring APIs. */
export function number(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  if (typeof value !== 'string' || value.trim() === '') return undefined
  const parsed = Number(value)
  return Number.isFinite(parsed) ? parsed : undefined
}

export const shortText = (value: string, chars: number): string =>
  value.length <= chars ? value : `${cutHead(value, chars)}…`

/** Keeps the `size` largest by score; earlier ones win ties. */
export class Largest<T> {
  readonly #size: number
  readonly #entries: { score: number; value: T }[] = []

  constructor(size: number) {
    this.#size = size
  }

  offer(score: number, value: () => T): void {
    const last = this.#entries[this.#entries.length - 1]
    if (this.#entries.length >= this.#size && last !== undefined && score <= last.score) return
    let at = this.#entries.length
    while (at > 0 && this.#entries[at - 1]!.score < score) at--
    this.#entries.splice(at, 0, { score, value: value() })
    if (this.#entries.length > this.#size) this.#entries.pop()
  }

  values(): T[] {
    return this.#entries.map((entry) => entry.value)
  }
}

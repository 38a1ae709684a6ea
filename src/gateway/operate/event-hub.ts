import type { EventSink, PlimsollEvent } from '../../core/events.ts'

/** An event with its place in the stream of this process. */
export interface NumberedEvent {
  readonly number: number
  readonly event: PlimsollEvent
}

/** The one stream of events: the newest ones, and whoever listens. */
export interface EventHub {
  readonly take: EventSink
  /** Events after `number`, oldest first, as far back as they are kept. */
  since(number: number): readonly NumberedEvent[]
  subscribe(listener: (numbered: NumberedEvent) => void): () => void
  readonly last: number
}

export function createEventHub(keep = 2_000): EventHub {
  const kept: NumberedEvent[] = []
  const listeners = new Set<(numbered: NumberedEvent) => void>()
  let last = 0
  return {
    take(event) {
      const numbered = { number: ++last, event }
      kept.push(numbered)
      // Cut now and then, not each time: shifting a long array for every event would be quadratic.
      if (kept.length > keep * 2) kept.splice(0, kept.length - keep)
      for (const listener of listeners) listener(numbered)
    },
    since: (number) => kept.filter((one) => one.number > number),
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    get last() {
      return last
    },
  }
}

import type { EventSink, PlimsollEvent } from '../../core/events.ts'

const warned = new WeakSet<EventSink>()

/** Every listener hears of an event; one that throws is named once and touches neither the others nor the request at hand. */
export function tellAll(listeners: Iterable<EventSink>, event: PlimsollEvent): void {
  for (const listener of listeners) {
    try {
      listener(event)
    } catch (error) {
      if (warned.has(listener)) continue
      warned.add(listener)
      process.emitWarning(
        `Plimsoll: a listener failed on ${event.type}: ${error instanceof Error ? error.message : String(error)}`,
      )
    }
  }
}

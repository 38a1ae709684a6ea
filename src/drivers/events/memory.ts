import type { PlimsollEvent } from '../../core/events.ts'
import type { EventBus } from '../../ports/event-bus.ts'

/** One process talking to itself. */
export function memoryEvents(): EventBus {
  const listeners = new Set<(event: PlimsollEvent) => void>()
  return {
    name: 'memory',
    publish(event) {
      for (const listener of listeners) listener(event)
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    async flush() {},
    async close() {
      listeners.clear()
    },
  }
}

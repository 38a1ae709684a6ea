import { randomUUID } from 'node:crypto'
import type { EventBus, EventListener } from '../../ports/event-bus.ts'

/** One process talking to itself. */
export function memoryEvents(): EventBus {
  const sender = randomUUID()
  const listeners = new Set<EventListener>()
  return {
    name: 'memory',
    sender,
    publish(event) {
      for (const listener of listeners) listener(event, sender)
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

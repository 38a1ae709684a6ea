import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { PlimsollEvent } from '../../core/events.ts'
import type { EventBus, EventListener } from '../../ports/event-bus.ts'

/** How events get from one process to the others. */
export interface EventLine {
  /** Rejects when the events are given up. */
  send(events: readonly PlimsollEvent[], sender: string): Promise<void>
  /** Resolves once events that are sent from now on are heard. */
  listen(hear: EventListener): Promise<void>
  close(): Promise<void>
}

export interface BusOptions {
  /** Called when events could not be sent or heard. */
  readonly onTrouble?: (error: unknown) => void
}

/** A server that is away, or a disk that is full, must not fill the memory of a proxy as well. */
const MAX_WAITING = 10_000

/** A bus over a line. Events go out together: one batch for all of a busy moment. */
export function busOver(
  name: string,
  line: EventLine,
  batchMs: number,
  { onTrouble = () => {} }: BusOptions,
): EventBus {
  const sender = randomUUID()
  const listeners = new Set<EventListener>()
  let waiting: PlimsollEvent[] = []
  let sending: Promise<void> | undefined
  let listening: Promise<void> | undefined
  let pause = new AbortController()
  let isClosed = false

  async function send(): Promise<void> {
    await delay(batchMs, undefined, { ref: false, signal: pause.signal }).catch(() => undefined)
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      await line.send(batch, sender).catch(onTrouble)
    }
    sending = undefined
  }

  async function flush(): Promise<void> {
    pause.abort()
    pause = new AbortController()
    await listening
    await sending
  }

  return {
    name,
    sender,
    publish(event) {
      if (isClosed) return
      if (waiting.length >= MAX_WAITING) waiting.splice(0, waiting.length / 2)
      waiting.push(event)
      sending ??= send()
    },
    subscribe(listener) {
      listeners.add(listener)
      listening ??= line.listen((event, from) => {
        for (const one of listeners) one(event, from)
      })
      return () => void listeners.delete(listener)
    },
    flush,
    async close() {
      isClosed = true
      await flush()
      await line.close()
      listeners.clear()
    },
  }
}

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

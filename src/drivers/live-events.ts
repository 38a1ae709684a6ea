import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { PlimsollEvent } from '../core/events.ts'
import { SYSTEM_TENANT } from '../core/handles.ts'
import { RECORD_VERSION } from '../core/records.ts'
import type { SessionStore } from '../ports/session-store.ts'

/** The log that carries events between processes. */
const LOG = 'live-events'
/** A longer log is removed and started again: events are only shown, and everything important is in the logs of sessions. */
const LONGEST_LOG = 1_000
/** How often events are sent, in one record, and those of other processes are read. */
const ROUND_MS = 250
/** The most waiting events, so that an unreachable server or a full disk does not fill the memory. */
const MAX_WAITING = 10_000

export interface LiveEvents {
  /** Never throws and never waits. */
  publish(event: PlimsollEvent): void
  /** Sends the waiting events. The store stays open. */
  close(): Promise<void>
}

/**
 * Live events of all processes that share a store, so that the dashboard of one proxy shows all of them. `hear` gets those of the others,
 * from now on, at most once and in their sender's order. `onTrouble` is called when events could not be sent or read; nothing else is affected.
 */
export function liveEvents(
  store: SessionStore,
  hear: (event: PlimsollEvent) => void,
  onTrouble: (error: unknown) => void = () => undefined,
): LiveEvents {
  // Nothing else can open it.
  if (store.name === 'memory') return { publish: () => undefined, close: async () => undefined }
  const sender = randomUUID()
  const closing = new AbortController()
  let waiting: PlimsollEvent[] = []
  let last: number | undefined

  async function send(): Promise<void> {
    if (waiting.length === 0) return
    const events = waiting
    waiting = []
    const record = { v: RECORD_VERSION, type: 'live-events', at: Date.now(), sender, events } as const
    const version = await store.append(SYSTEM_TENANT, LOG, [record], undefined, { durable: 'soon' })
    if (version > LONGEST_LOG) await store.remove(SYSTEM_TENANT, LOG)
  }

  async function look(): Promise<void> {
    const newest = await store.version(SYSTEM_TENANT, LOG)
    last ??= newest
    if (newest < last) last = 0
    if (newest === last) return
    for await (const { version, record } of store.read(SYSTEM_TENANT, LOG, last)) {
      last = version
      if (record.type === 'live-events' && record.sender !== sender)
        for (const event of record.events) hear(event as PlimsollEvent)
    }
  }

  async function run(): Promise<void> {
    await look().catch(onTrouble)
    do {
      await delay(ROUND_MS, undefined, { ref: false, signal: closing.signal }).catch(() => undefined)
      await send().then(look).catch(onTrouble)
    } while (!closing.signal.aborted)
  }

  const running = run()
  return {
    publish(event) {
      if (closing.signal.aborted) return
      if (waiting.length >= MAX_WAITING) waiting.splice(0, waiting.length / 2)
      waiting.push(event)
    },
    async close() {
      closing.abort()
      await running
    },
  }
}

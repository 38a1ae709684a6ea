import { randomUUID, randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from 'pg'
import type { PlimsollEvent } from '../../core/events.ts'
import type { EventBus, EventListener } from '../../ports/event-bus.ts'
import { connectPostgres, type PostgresOptions } from '../postgres/connection.ts'
import { BoundedMap } from '../../util/bounded-map.ts'

/*
 * Postgres carries less than 8000 bytes per notification. Longer texts travel in numbered pieces: `id:index:count:piece`.
 */

const MAX_PIECE_BYTES = 7900
/** Pieces of messages whose rest never came are dropped, oldest first. */
const MOST_OPEN_MESSAGES = 64

/** ASCII, so that characters and bytes are the same and no piece ends inside a character. */
const toAscii = (text: string): string =>
  text.replace(/[\u0080-\uffff]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** `json` must be JSON: characters beyond ASCII are written as its escapes. */
export function toPieces(json: string): string[] {
  const ascii = toAscii(json)
  const id = randomBytes(6).toString('hex')
  const room = MAX_PIECE_BYTES - 40
  const count = Math.max(1, Math.ceil(ascii.length / room))
  return Array.from({ length: count }, (_, i) => `${id}:${i}:${count}:${ascii.slice(i * room, (i + 1) * room)}`)
}

/** Gives the whole text when its last piece has come. */
export function pieceReader(): (piece: string) => string | undefined {
  const open = new BoundedMap<string, string[]>(MOST_OPEN_MESSAGES)
  return (piece) => {
    const match = /^([0-9a-f]+):(\d+):(\d+):(.*)$/s.exec(piece)
    if (match === null) return undefined
    const [, id = '', index, count, text = ''] = match
    if (count === '1') return text
    const parts = open.get(id) ?? []
    parts[Number(index)] = text
    open.set(id, parts)
    if (parts.filter((part) => part !== undefined).length < Number(count)) return undefined
    open.delete(id)
    return parts.join('')
  }
}

export interface PostgresEventsOptions extends PostgresOptions {
  /** Called when events could not be sent or the subscription had to be made anew. */
  onTrouble?: (error: unknown) => void
}

// NOTIFY makes commits of one database wait for each other, so events go out together, apart from the writes of the store.
const BATCH_MS = 20
const MAX_WAITING = 10_000
const FIRST_WAIT_MS = 50
const LONGEST_WAIT_MS = 5000
/** Events that cannot be sent for this long are given up. */
const RETRY_FOR_MS = 2000

/** LISTEN and NOTIFY on a channel named after the schema. Listens on a connection of its own, made anew when it breaks. */
export function postgresEvents(options: PostgresEventsOptions): EventBus {
  const { onTrouble = () => {} } = options
  const self = randomUUID()
  const sender = connectPostgres({ retryForMs: RETRY_FOR_MS, ...options, poolSize: 1 })
  const channel = `${sender.schema}_events`
  const listeners = new Set<EventListener>()
  let waiting: string[] = []
  let sending: Promise<void> | undefined
  let listening: Promise<void> | undefined
  let client: Client | undefined
  let closed = false
  const closing = new AbortController()

  async function send(): Promise<void> {
    await delay(BATCH_MS)
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      try {
        await sender.once('SELECT pg_notify($1, piece) FROM unnest($2::text[]) AS p(piece)', [channel, batch])
      } catch (error) {
        onTrouble(error)
      }
    }
    sending = undefined
  }

  /** Listens until closed. Resolves once, when the first connection listens. */
  async function listen(): Promise<void> {
    const { default: pg } = await import('pg')
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
      if (closed) return
      const next = new pg.Client({ connectionString: options.url, application_name: 'plimsoll events' })
      try {
        await next.connect()
        hear(next)
        await next.query(`LISTEN ${channel}`)
        client = next
        return
      } catch (error) {
        onTrouble(error)
        await next.end().catch(() => {})
      }
      await delay(wait * (0.5 + Math.random()), undefined, { signal: closing.signal }).catch(() => undefined)
    }
  }

  function hear(next: Client): void {
    const read = pieceReader()
    next.on('notification', ({ payload = '' }) => {
      const text = read(payload)
      if (text === undefined) return
      const { from, event } = JSON.parse(text) as { from: string; event: PlimsollEvent }
      for (const listener of listeners) listener(event, from)
    })
    next.on('error', (error) => {
      if (closed) return
      onTrouble(error)
      client = undefined
      listening = listen()
    })
  }

  return {
    name: 'postgres',
    sender: self,
    publish(event) {
      if (closed) return
      // A server that is away must not fill the memory of a proxy that is not.
      if (waiting.length >= MAX_WAITING) waiting.splice(0, waiting.length / 2)
      waiting.push(...toPieces(JSON.stringify({ from: self, event })))
      sending ??= send()
    },
    subscribe(listener) {
      listeners.add(listener)
      listening ??= listen()
      return () => void listeners.delete(listener)
    },
    async flush() {
      await listening
      await sending
    },
    async close() {
      closed = true
      closing.abort()
      await sending
      await listening
      await client?.end()
      await sender.close()
      listeners.clear()
    },
  }
}

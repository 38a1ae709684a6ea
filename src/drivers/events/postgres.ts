import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from 'pg'
import type { PlimsollEvent } from '../../core/events.ts'
import type { EventBus, EventListener } from '../../ports/event-bus.ts'
import { connectPostgres, type PostgresOptions } from '../postgres/connection.ts'
import { BoundedMap } from '../../util/bounded-map.ts'
import { busOver, type BusOptions, type EventLine } from './bus.ts'

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

export interface PostgresEventsOptions extends PostgresOptions, BusOptions {}

// NOTIFY makes commits of one database wait for each other, so events go out apart from the writes of the store.
const BATCH_MS = 20
const FIRST_WAIT_MS = 50
const LONGEST_WAIT_MS = 5000
/** Events that cannot be sent for this long are given up. */
const RETRY_FOR_MS = 2000

/** LISTEN and NOTIFY on a channel named after the schema. Listens on a connection of its own, made anew when it breaks. */
export function postgresEvents(options: PostgresEventsOptions): EventBus {
  const { onTrouble = () => {} } = options
  const server = connectPostgres({ retryForMs: RETRY_FOR_MS, ...options, poolSize: 1 })
  const channel = `${server.schema}_events`
  const closing = new AbortController()
  const { signal } = closing
  let listening: Promise<Client | undefined> | undefined

  /** The first connection that listens; nothing once the bus is closed. */
  async function connect(hear: EventListener): Promise<Client | undefined> {
    const { default: pg } = await import('pg')
    for (let wait = FIRST_WAIT_MS; !signal.aborted; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
      const client = new pg.Client({ connectionString: options.url, application_name: 'plimsoll events' })
      const read = pieceReader()
      client.on('notification', ({ payload = '' }) => {
        const text = read(payload)
        if (text === undefined) return
        const { from, event } = JSON.parse(text) as { from: string; event: PlimsollEvent }
        hear(event, from)
      })
      try {
        await client.connect()
        client.on('error', (error) => {
          if (signal.aborted) return
          onTrouble(error)
          listening = connect(hear)
        })
        await client.query(`LISTEN ${channel}`)
        return client
      } catch (error) {
        onTrouble(error)
        await client.end().catch(() => {})
      }
      await delay(wait * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined)
    }
    return undefined
  }

  const line: EventLine = {
    async send(events, from) {
      const pieces = events.flatMap((event) => toPieces(JSON.stringify({ from, event })))
      await server.once('SELECT pg_notify($1, piece) FROM unnest($2::text[]) AS p(piece)', [channel, pieces])
    },
    async listen(hear) {
      listening = connect(hear)
      await listening
    },
    async close() {
      closing.abort()
      await (await listening)?.end()
      await server.close()
    },
  }
  return busOver('postgres', line, BATCH_MS, options)
}

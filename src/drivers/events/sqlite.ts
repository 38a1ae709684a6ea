import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import type { PlimsollEvent } from '../../core/events.ts'
import type { EventBus, EventListener } from '../../ports/event-bus.ts'
import { text } from '../sessions/sql/job.ts'
import { asBytes, isBusy, openDatabase, type SqliteDatabase } from '../sessions/sqlite/database.ts'

export interface SqliteEventsOptions {
  /** A file of its own beside the store: events come often, need no flush and must not hold up the archive. */
  readonly path: string
  /** How often others' events are looked for. @default 200 */
  readonly pollMs?: number
  /** Called when the file could not be written or read. */
  readonly onTrouble?: (error: unknown) => void
}

// Events go out together: one transaction for all of a busy moment.
const BATCH_MS = 50
const MAX_WAITING = 10_000
/** Rows that are left for others to read; whoever is this far behind has missed the rest. */
const KEEP = 5_000
// NORMAL: no flush per commit. A power cut may take the last events and nothing else.
const SETUP = `
  PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON; PRAGMA busy_timeout = 0;
  CREATE TABLE IF NOT EXISTS events (id INTEGER PRIMARY KEY AUTOINCREMENT, sender TEXT NOT NULL, event TEXT NOT NULL) STRICT;`

/** A ring of rows that every process on the machine polls. Looking costs nothing while nobody wrote. */
export function sqliteEvents(options: SqliteEventsOptions): EventBus {
  const { pollMs = 200, onTrouble = () => {} } = options
  const sender = randomUUID()
  const path = resolve(options.path)
  const listeners = new Set<EventListener>()
  let waiting: string[] = []
  let db: SqliteDatabase | undefined
  let sending: NodeJS.Timeout | undefined
  let polling: NodeJS.Timeout | undefined
  let last: number | undefined
  let seenVersion = -1
  let closed = false

  function open(): SqliteDatabase {
    if (db === undefined) {
      const opened = openDatabase(path)
      try {
        opened.exec(SETUP)
      } catch (error) {
        opened.close()
        throw error
      }
      db = opened
    }
    return db
  }

  /** Never throws. True when another process is writing and it has to be tried again. */
  function isHeldUp(work: () => void): boolean {
    try {
      work()
      return false
    } catch (error) {
      if (isBusy(error)) return true
      onTrouble(error)
      return false
    }
  }

  function send(): void {
    sending = undefined
    if (waiting.length === 0) return
    const isLater = isHeldUp(() => {
      const target = open()
      target.exec('BEGIN IMMEDIATE')
      try {
        for (const event of waiting) target.all('INSERT INTO events (sender, event) VALUES (?, ?)', sender, event)
        target.all('DELETE FROM events WHERE id <= (SELECT MAX(id) FROM events) - ?', KEEP)
        target.exec('COMMIT')
      } catch (error) {
        target.exec('ROLLBACK')
        throw error
      }
    })
    if (isLater) return schedule()
    // Sent, or given up: events are no reason to try again and again what cannot be written.
    waiting = []
    seenVersion = -1
    look()
  }

  function schedule(): void {
    sending ??= setTimeout(send, BATCH_MS)
    sending.unref()
  }

  const number = (sql: string, column: string): number => Number(open().all(sql)[0]?.[column] ?? 0)

  function look(): void {
    isHeldUp(() => {
      // Changes only when another connection has committed; our own writes reset what was seen.
      const version = number('PRAGMA data_version', 'data_version')
      if (version === seenVersion || last === undefined) return
      const rows = open().all(
        `SELECT id, ${asBytes('sender')} AS sender, ${asBytes('event')} AS event FROM events WHERE id > ? ORDER BY id`,
        last,
      )
      seenVersion = version
      for (const row of rows) {
        last = Number(row['id'])
        const event = JSON.parse(text(row, 'event')) as PlimsollEvent
        for (const listener of listeners) listener(event, text(row, 'sender'))
      }
    })
  }

  function listen(): void {
    const begin = (): void => {
      if (last === undefined) isHeldUp(() => void (last = number('SELECT MAX(id) AS id FROM events', 'id')))
      else look()
    }
    begin()
    polling = setInterval(begin, pollMs)
    polling.unref()
  }

  return {
    name: 'sqlite',
    sender,
    publish(event) {
      if (closed) return
      // A disk that is full must not fill the memory of a proxy as well.
      if (waiting.length >= MAX_WAITING) waiting.splice(0, waiting.length / 2)
      waiting.push(JSON.stringify(event))
      schedule()
    },
    subscribe(listener) {
      listeners.add(listener)
      if (polling === undefined) listen()
      return () => void listeners.delete(listener)
    },
    async flush() {
      clearTimeout(sending)
      send()
    },
    async close() {
      clearTimeout(sending)
      send()
      closed = true
      clearTimeout(sending)
      clearInterval(polling)
      listeners.clear()
      db?.close()
      db = undefined
    },
  }
}

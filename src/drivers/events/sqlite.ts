import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { PlimsollEvent } from '../../core/events.ts'
import type { EventBus, EventListener } from '../../ports/event-bus.ts'
import { int, text } from '../sessions/sql/job.ts'
import { asBytes, isBusy, openDatabase, type SqliteDatabase } from '../sessions/sqlite/database.ts'
import { busOver, type BusOptions, type EventLine } from './bus.ts'

export interface SqliteEventsOptions extends BusOptions {
  /** A file of its own beside the store: events come often, need no flush and must not hold up the archive. */
  readonly path: string
  /** How often others' events are looked for. @default 200 */
  readonly pollMs?: number
}

const BATCH_MS = 50
/** While another process writes; after so many the events are given up. */
const MOST_TRIES = 40
/** Rows that are left for others to read; a process that is further behind has missed the rest. */
const KEEP = 5_000
// NORMAL: no flush per commit. A power cut may take the last events and nothing else.
const SETUP = `
  PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON; PRAGMA busy_timeout = 0;
  CREATE TABLE IF NOT EXISTS events (id INTEGER PRIMARY KEY AUTOINCREMENT, sender TEXT NOT NULL, event TEXT NOT NULL) STRICT;`

/** A ring of rows that every process on the machine polls. Looking costs nothing while there is nothing new. */
export function sqliteEvents(options: SqliteEventsOptions): EventBus {
  const { pollMs = 200, onTrouble = () => {} } = options
  const path = resolve(options.path)
  let db: SqliteDatabase | undefined
  let hear: EventListener = () => {}
  let polling: NodeJS.Timeout | undefined
  let last: number | undefined
  let seenVersion = -1

  function open(): SqliteDatabase {
    if (db !== undefined) return db
    const opened = openDatabase(path)
    try {
      opened.exec(SETUP)
    } catch (error) {
      opened.close()
      throw error
    }
    return (db = opened)
  }

  /** Never throws. What another process holds up is looked for with the next poll. */
  function look(): void {
    try {
      // Changes only when another connection has committed; our own writes reset what was seen.
      const version = int(open().all('PRAGMA data_version')[0], 'data_version')
      if (version === seenVersion) return
      last ??= int(open().all('SELECT MAX(id) AS id FROM events')[0], 'id')
      const rows = open().all(
        `SELECT id, ${asBytes('sender')} AS sender, ${asBytes('event')} AS event FROM events WHERE id > ? ORDER BY id`,
        last,
      )
      seenVersion = version
      for (const row of rows) {
        last = int(row, 'id')
        hear(JSON.parse(text(row, 'event')) as PlimsollEvent, text(row, 'sender'))
      }
    } catch (error) {
      if (!isBusy(error)) onTrouble(error)
    }
  }

  const line: EventLine = {
    async send(events, sender) {
      for (let tries = 1; ; tries++) {
        try {
          write(open(), events, sender)
          break
        } catch (error) {
          if (!isBusy(error) || tries === MOST_TRIES) throw error
        }
        await delay(BATCH_MS, undefined, { ref: false })
      }
      seenVersion = -1
      if (polling !== undefined) look()
    },
    async listen(listener) {
      hear = listener
      look()
      polling = setInterval(look, pollMs).unref()
    },
    async close() {
      clearInterval(polling)
      db?.close()
      db = undefined
    },
  }
  return busOver('sqlite', line, BATCH_MS, options)
}

function write(target: SqliteDatabase, events: readonly PlimsollEvent[], sender: string): void {
  target.exec('BEGIN IMMEDIATE')
  try {
    for (const event of events)
      target.all('INSERT INTO events (sender, event) VALUES (?, ?)', sender, JSON.stringify(event))
    target.all('DELETE FROM events WHERE id <= (SELECT MAX(id) FROM events) - ?', KEEP)
    target.exec('COMMIT')
  } catch (error) {
    target.exec('ROLLBACK')
    throw error
  }
}

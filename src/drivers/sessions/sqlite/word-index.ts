import { isPlimsollError } from '../../../core/errors.ts'
import { wordKey } from '../read-record.ts'
import { int, text } from '../rows.ts'
import { wordsOf } from '../../../core/search-words.ts'
import { recordOf } from './context.ts'
import type { Context } from './context.ts'
import type { SqliteDatabase, SqlRow } from './database.ts'

/** Nobody else gets to work while a slice runs. */
const SLICE_MS = 8
const PAGE = 32

/**
 * Puts the words of records into the search index that were appended since it was last brought up to date; true when some are left. An
 * append does not wait for it: words cost more than everything else about a record, and most are never looked for.
 */
function indexSlice(db: SqliteDatabase, context: Context): boolean {
  const startedAt = performance.now()
  const from = markOf(db)
  let mark = from
  let isDone = false
  while (!isDone && performance.now() - startedAt < SLICE_MS) {
    const rows = db.all(
      `SELECT r.id, r.version, r.body, r.sum, s.name AS session, s.tenant, t.name AS owner FROM records r
       JOIN sessions s ON s.id = r.session JOIN tenants t ON t.id = s.tenant WHERE r.id > ? ORDER BY r.id LIMIT ?`,
      mark,
      PAGE,
    )
    isDone = rows.length < PAGE
    for (const row of rows) {
      const id = int(row, 'id')
      const words = wordsIn(context, row)
      // A process of an older package puts words in as it appends.
      if (words.length > 0) db.run('INSERT OR REPLACE INTO words (rowid, tokens) VALUES (?, ?)', id, words.join(' '))
      mark = id
      if (performance.now() - startedAt >= SLICE_MS) break
    }
    isDone &&= mark === (rows.length === 0 ? mark : int(rows.at(-1), 'id'))
  }
  if (mark !== from) db.run("UPDATE meta SET value = ? WHERE key = 'words'", String(mark))
  return !isDone
}

/** None for a record that this package cannot read: it must not stand in the way of all that come after it, other tenants' among them. */
function wordsIn(context: Context, row: SqlRow): string[] {
  const owner = text(row, 'owner')
  try {
    const record = recordOf(context, owner, row, { session: text(row, 'session'), version: int(row, 'version') })
    if (record?.type !== 'item-seen') return []
    return wordsOf(record.text).map((word) => wordKey(context, owner, int(row, 'tenant'), word))
  } catch (error) {
    if (!isPlimsollError(error)) throw error
    return []
  }
}

const isBehind = (db: SqliteDatabase): boolean =>
  db.all('SELECT 1 FROM records WHERE id > ? LIMIT 1', markOf(db)).length > 0

const markOf = (db: SqliteDatabase): number =>
  Number(text(db.all("SELECT value FROM meta WHERE key = 'words'")[0], 'value'))

export interface WordIndexing {
  /** Something was appended: its words go in when nobody else needs the time. */
  note(): void
  /** Brings the index up to date. */
  upToDate(): Promise<void>
  close(): void
}

export interface WordIndexingDeps {
  readonly write: <T>(job: (db: SqliteDatabase) => T) => Promise<T>
  readonly ask: <T>(job: (db: SqliteDatabase) => T) => Promise<T>
  readonly context: Context
}

const QUIET_MS = 250
const BETWEEN_SLICES_MS = 25
/** Where it is never quiet, the index lags behind by this at least, and is brought up to date a slice at a time. */
const LONGEST_LAG_MS = 30_000

export function wordIndexing({ write, ask, context }: WordIndexingDeps): WordIndexing {
  let timer: NodeJS.Timeout | undefined
  let oldest = 0
  let newest = 0
  let closed = false

  const later = (ms: number): void => {
    if (closed) return
    timer = setTimeout(() => void tick(), ms)
    timer.unref()
  }

  async function tick(): Promise<void> {
    timer = undefined
    const now = performance.now()
    const isQuiet = now - newest >= QUIET_MS
    if (!isQuiet && now - oldest < LONGEST_LAG_MS) return later(QUIET_MS)
    // A store that is away, or busy elsewhere, is asked again with the next append or search.
    const more = await write((db) => indexSlice(db, context)).catch(() => false)
    if (more) later(isQuiet ? BETWEEN_SLICES_MS : QUIET_MS)
  }

  return {
    note() {
      newest = performance.now()
      if (timer !== undefined) return
      oldest = newest
      later(QUIET_MS)
    },
    async upToDate() {
      if (!(await ask(isBehind))) return
      while (await write((db) => indexSlice(db, context))) {
        // Each slice is a transaction of its own, so that others get their turn.
      }
    },
    close() {
      closed = true
      clearTimeout(timer)
    },
  }
}

import { isPlimsollError } from '../../../core/errors.ts'
import { wordKey } from '../read-record.ts'
import { int, text as nameOf } from '../rows.ts'
import { addWords, ENOUGH_WORDS, wordPieces } from '../../../core/search-words.ts'
import { recordOf, type Context } from './context.ts'
import type { SqliteDatabase, SqlRow } from './database.ts'

/** Nobody else gets to work while a slice runs. */
const SLICE_MS = 8
const PAGE = 256

/** A record whose words are being looked for. */
interface Reading {
  readonly id: number
  readonly owner: string
  readonly tenant: number
  readonly pieces: readonly string[]
  readonly words: Set<string>
  /** Pieces that were read. */
  read: number
}

/** What is left over from the last slice. */
interface Progress {
  reading?: Reading | undefined
}

/**
 * Puts the words of records into the search index that were appended since it was last brought up to date; true when some are left. An
 * append does not wait for it: words cost more than everything else about a record, and most are never looked for. A long record takes
 * several slices.
 */
function indexSlice(db: SqliteDatabase, context: Context, progress: Progress): boolean {
  const until = performance.now() + SLICE_MS
  const from = markOf(db)
  let mark = from
  let ids = idsBehind(db, mark)
  let next = 0
  // Another process may have put it in meanwhile, or a slice was taken back.
  if (progress.reading?.id === ids[0]) next = 1
  else progress.reading = undefined
  for (;;) {
    if (progress.reading === undefined) {
      if (next === ids.length) {
        ids = idsBehind(db, mark)
        next = 0
      }
      if (ids.length === 0) break
      progress.reading = readingOf(db, context, ids[next++]!)
    }
    if (!readOn(progress.reading, until)) break
    putWords(db, context, progress.reading)
    mark = progress.reading.id
    progress.reading = undefined
    if (performance.now() >= until) break
  }
  if (mark !== from) db.run("UPDATE meta SET value = ? WHERE key = 'words'", String(mark))
  return progress.reading !== undefined || isBehind(db)
}

const idsBehind = (db: SqliteDatabase, mark: number): readonly number[] =>
  db.all('SELECT id FROM records WHERE id > ? ORDER BY id LIMIT ?', mark, PAGE).map((row) => int(row, 'id'))

/** One at a time: each may be as long as the largest body. */
function readingOf(db: SqliteDatabase, context: Context, id: number): Reading {
  const { fresh } = context.cache
  const known = fresh.peek(id)
  if (known !== undefined) {
    fresh.delete(id)
    const { owner, tenant, text } = known
    return { id, owner, tenant, pieces: wordPieces(text), words: new Set(), read: 0 }
  }
  const row = db.all(
    `SELECT r.version, r.body, r.sum, s.name AS session, s.tenant, t.name AS owner FROM records r
     JOIN sessions s ON s.id = r.session JOIN tenants t ON t.id = s.tenant WHERE r.id = ?`,
    id,
  )[0]
  const text = row === undefined ? '' : textIn(context, row)
  const owner = row === undefined ? '' : nameOf(row, 'owner')
  const tenant = row === undefined ? 0 : int(row, 'tenant')
  return { id, owner, tenant, pieces: wordPieces(text), words: new Set(), read: 0 }
}

/** True when all that are indexed were found. */
function readOn(reading: Reading, until: number): boolean {
  const { words, pieces } = reading
  while (reading.read < pieces.length && words.size < ENOUGH_WORDS) {
    if (reading.read > 0 && performance.now() >= until) return false
    addWords(words, pieces[reading.read++]!)
  }
  return true
}

function putWords(db: SqliteDatabase, context: Context, { id, owner, tenant, words }: Reading): void {
  if (words.size === 0) return
  const keys = [...words].map((word) => wordKey(context, owner, tenant, word))
  // A process of an older package puts words in as it appends.
  db.run('INSERT OR REPLACE INTO words (rowid, tokens) VALUES (?, ?)', id, keys.join(' '))
}

/** Nothing for a record that this package cannot read: it must not stand in the way of all that come after it, other tenants' among them. */
function textIn(context: Context, row: SqlRow): string {
  try {
    const place = { session: nameOf(row, 'session'), version: int(row, 'version') }
    const record = recordOf(context, nameOf(row, 'owner'), row, place)
    return record?.type === 'item-seen' ? record.text : ''
  } catch (error) {
    if (!isPlimsollError(error)) throw error
    return ''
  }
}

const isBehind = (db: SqliteDatabase): boolean =>
  db.all('SELECT 1 FROM records WHERE id > ? LIMIT 1', markOf(db)).length > 0

const markOf = (db: SqliteDatabase): number =>
  Number(nameOf(db.all("SELECT value FROM meta WHERE key = 'words'")[0], 'value'))

export interface WordIndexing {
  /** Something was appended: its words go in when nobody else needs the time. */
  note(): void
  /** Brings the index up to date. */
  upToDate(): Promise<void>
  /** Somebody else does it until the next `note`. */
  rest(): void
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
  const progress: Progress = {}

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
    const more = await write((db) => indexSlice(db, context, progress)).catch(() => false)
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
      while (await write((db) => indexSlice(db, context, progress))) {
        // Each slice is a transaction of its own, so that others get their turn.
      }
    },
    rest() {
      progress.reading = undefined
      clearTimeout(timer)
      timer = undefined
    },
    close() {
      closed = true
      progress.reading = undefined
      clearTimeout(timer)
    },
  }
}

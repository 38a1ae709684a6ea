import { isPlimsollError } from '../../../core/errors.ts'
import { addWords, ENOUGH_WORDS, queryWords, wordPieces } from '../../../core/search-words.ts'
import type { SearchHit } from '../../../ports/session-store.ts'
import { yieldNow } from '../../../util/yield-now.ts'
import { wordKey } from '../records.ts'
import { int, text } from '../rows.ts'
import { rankCandidates, type Candidate } from '../search-words.ts'
import { asBytes, type SqliteDatabase } from './database.ts'
import { headOf, RECORD, recordOf, tenantId, type Context } from './log.ts'
import type { WriteQueue } from './write-queue.ts'

// Newest records looked at per word once no record holds all words; enough for a rare word to be found among common ones.
const PER_WORD = 50

/** Records with every word first; when they are too few, the newest with any of them. */
export function search(
  db: SqliteDatabase,
  context: Context,
  tenantName: string,
  query: string,
  session: string | undefined,
  limit: number,
): SearchHit[] {
  const tenant = tenantId(db, tenantName)
  const asked = queryWords(query)
  if (asked.length === 0) return []
  const sessionId = session === undefined ? null : headOf(db, tenant, session).id
  const words = asked.map((word) => `"${wordKey(context, tenantName, tenant, word)}"`)
  const candidates = new Map<number, Candidate>()

  const look = (match: string, count: number): void => {
    const rows = db.all(
      `SELECT r.id, ${RECORD}, ${asBytes('s.name')} AS session FROM words
       JOIN records r ON r.id = words.rowid JOIN sessions s ON s.id = r.session
       WHERE words MATCH ? AND (? IS NULL OR r.session = ?) ORDER BY words.rowid DESC LIMIT ?`,
      match,
      sessionId,
      sessionId,
      count,
    )
    for (const row of rows) {
      const id = int(row, 'id')
      if (candidates.has(id)) continue
      const place = { session: text(row, 'session'), version: int(row, 'version') }
      const record = recordOf(context, tenantName, row, place.session)
      if (record?.type === 'item-seen') candidates.set(id, { ...place, at: record.at, text: record.text })
    }
  }

  look(words.join(' AND '), limit)
  if (candidates.size < limit && words.length > 1) for (const word of words) look(word, PER_WORD)
  return rankCandidates([...candidates.values()], asked, limit)
}

/** What finds a record. */
interface Words {
  readonly record: number
  readonly tokens: string
}

/** Requests get their turn when this long was worked on words. */
const SLICE_MS = 8
/** Some fiftieth of the time goes to words of what was appended; a search brings the index up to date. */
const PAUSE_MS = 400

/**
 * The search index, which an append does not wait for: words cost more than everything else about a record, and most are never looked for.
 * `meta.words` is the newest record whose words are in it.
 */
export function wordIndex(queue: WriteQueue, ask: <T>(job: (db: SqliteDatabase) => T) => Promise<T>, context: Context) {
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  /** False when all are in. */
  async function putSome(): Promise<boolean> {
    const until = performance.now() + SLICE_MS
    const found: Words[] = []
    do {
      const next = await ask((db) => nextText(db, context, found.at(-1)?.record))
      if (next === undefined) break
      found.push({ record: next.record, tokens: await tokensOf(context, next) })
    } while (performance.now() < until)
    const last = found.at(-1)
    if (last === undefined) return false
    await queue.write((db) => {
      for (const { record, tokens } of found) {
        if (tokens === '') continue
        // It may be gone meanwhile, and must not be found then; a process of an older package puts words in as it appends.
        db.run('INSERT OR REPLACE INTO words (rowid, tokens) SELECT id, ? FROM records WHERE id = ?', tokens, record)
      }
      const mark = last.record
      db.run("UPDATE meta SET value = ? WHERE key = 'words' AND CAST(value AS INTEGER) < ?", String(mark), mark)
    })
    return true
  }

  return {
    /** Something was appended: its words go in when there is time. */
    note,
    async upToDate(): Promise<void> {
      while (await putSome());
    },
    close(): void {
      isClosed = true
      clearTimeout(timer)
    },
  }

  function note(): void {
    if (isClosed) return
    timer ??= setTimeout(() => {
      timer = undefined
      // A store that is away, or busy elsewhere, is asked again with the next append or search.
      putSome().then(
        (isMore) => isMore && note(),
        () => undefined,
      )
    }, PAUSE_MS).unref()
  }
}

const MARK = "SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'words'"

/** The next record whose words are not in the index; 0 when there is none. */
const nextId = (db: SqliteDatabase, after?: number): number =>
  int(db.all(`SELECT MIN(id) AS id FROM records WHERE id > COALESCE(?, (${MARK}))`, after ?? null)[0], 'id')

interface Unread {
  readonly record: number
  readonly owner: string
  readonly tenant: number
  readonly text: string
}

function nextText(db: SqliteDatabase, context: Context, after?: number): Unread | undefined {
  const record = nextId(db, after)
  const row = db.all(
    `SELECT ${RECORD}, ${asBytes('s.name')} AS session, s.tenant, ${asBytes('t.name')} AS owner FROM records r
     JOIN sessions s ON s.id = r.session JOIN tenants t ON t.id = s.tenant WHERE r.id = ?`,
    record,
  )[0]
  if (record === 0) return undefined
  if (row === undefined) return { record, owner: '', tenant: 0, text: '' }
  const owner = text(row, 'owner')
  try {
    const found = recordOf(context, owner, row, text(row, 'session'))
    return { record, owner, tenant: int(row, 'tenant'), text: found?.type === 'item-seen' ? found.text : '' }
  } catch (error) {
    // One that this package cannot read must not stand in the way of all that come after it, other tenants' among them.
    if (!isPlimsollError(error)) throw error
    return { record, owner, tenant: 0, text: '' }
  }
}

async function tokensOf(context: Context, { owner, tenant, text: read }: Unread): Promise<string> {
  const pause = yieldNow(SLICE_MS)
  const words = new Set<string>()
  for (const piece of wordPieces(read)) {
    if (words.size >= ENOUGH_WORDS) break
    addWords(words, piece)
    await pause()
  }
  return [...words].map((word) => wordKey(context, owner, tenant, word)).join(' ')
}

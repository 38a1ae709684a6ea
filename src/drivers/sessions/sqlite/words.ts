import { isPlimsollError } from '../../../core/errors.ts'
import type { ItemSeen } from '../../../core/records.ts'
import { yieldNow } from '../../../util/yield-now.ts'
import { wordKey } from '../records.ts'
import { ENOUGH_WORDS, wordPieces } from '../search-words.ts'
import { ask, int, text, type Context, type Job } from '../sql/job.ts'
import { recordColumns, recordOf } from '../sql/log.ts'
import type { SqlConnection } from '../sql/store.ts'
import { asBytes } from './database.ts'

/** The key of a record. */
interface Words {
  readonly record: number
  readonly tokens: string
}

/** After this time, other requests get their turn. */
const SLICE_MS = 8
/** About a fiftieth of the time is used to index appended records; a search updates the index first. */
const PAUSE_MS = 400

/**
 * The search index. An append does not wait for it: indexing costs more than everything else about a record, and most are never searched.
 * `meta.words` is the newest record whose words are in it.
 */
export function wordIndex({ read, write }: Pick<SqlConnection, 'read' | 'write'>, context: Context) {
  let timer: NodeJS.Timeout | undefined
  let isClosed = false
  /** Only moves forward, so that indexing ends even if a damaged file loses its mark or returns an entry again. */
  let reached = 0

  /** False when all records are indexed. */
  async function putSome(): Promise<boolean> {
    const until = performance.now() + SLICE_MS
    const found: Words[] = []
    do {
      const after = found.at(-1)?.record ?? reached
      const next = await read(() => nextText(context, after))
      if (next === undefined || next.record <= after) break
      found.push({ record: next.record, tokens: await tokensOf(context, next) })
    } while (performance.now() < until)
    const last = found.at(-1)
    if (last === undefined) return false
    await write(function* () {
      for (const { record, tokens } of found) {
        if (tokens === '') continue
        // It may have been removed meanwhile, and must then not be found; processes of an older version index while they append.
        yield* ask(
          'INSERT OR REPLACE INTO words (rowid, tokens) SELECT id, ? FROM records WHERE id = ?',
          tokens,
          record,
        )
      }
      const mark = last.record
      yield* ask("UPDATE meta SET value = ? WHERE key = 'words' AND CAST(value AS INTEGER) < ?", String(mark), mark)
    })
    reached = last.record
    return true
  }

  return {
    /** Schedules indexing after an append. */
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
      // If the store is unavailable or busy, the next append or search tries again.
      putSome().then(
        (isMore) => isMore && note(),
        () => undefined,
      )
    }, PAUSE_MS).unref()
  }
}

interface Unread {
  readonly record: number
  readonly owner: string
  readonly tenant: number
  /** Undefined for a record without words. */
  readonly item: ItemSeen | undefined
}

/** The next record whose words are not in the index. */
function* nextText(context: Context, after: number): Job<Unread | undefined> {
  const newest = "SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'words'"
  const [next] = yield* ask(`SELECT MIN(id) AS id FROM records WHERE id > MAX(?, COALESCE((${newest}), 0))`, after)
  const record = int(next, 'id')
  const [row] = yield* ask(
    `SELECT ${recordColumns(context)}, ${asBytes('s.name')} AS session, s.tenant, ${asBytes('t.name')} AS owner FROM records r
     JOIN sessions s ON s.id = r.session JOIN tenants t ON t.id = s.tenant WHERE r.id = ?`,
    record,
  )
  if (record === 0) return undefined
  if (row === undefined) return { record, owner: '', tenant: 0, item: undefined }
  const owner = text(row, 'owner')
  try {
    const found = recordOf(context, owner, row, text(row, 'session'))
    return { record, owner, tenant: int(row, 'tenant'), item: found?.type === 'item-seen' ? found : undefined }
  } catch (error) {
    // A record that cannot be read must not block all later ones, those of other tenants included.
    if (!isPlimsollError(error)) throw error
    return { record, owner, tenant: 0, item: undefined }
  }
}

async function tokensOf(context: Context, { owner, tenant, item }: Unread): Promise<string> {
  const pause = yieldNow(SLICE_MS)
  const words = new Set<string>()
  for (const piece of item === undefined ? [] : wordPieces(item)) {
    if (words.size >= ENOUGH_WORDS) break
    for (const word of piece()) words.add(word)
    await pause()
  }
  return [...words].map((word) => wordKey(context, owner, tenant, word)).join(' ')
}

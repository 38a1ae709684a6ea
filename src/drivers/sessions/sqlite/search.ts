import type { SearchHit } from '../../../ports/session-store.ts'
import { queryWords } from '../../../core/search-words.ts'
import { rankCandidates, type Candidate } from '../search-words.ts'
import { wordKey } from '../read-record.ts'
import { int, text } from '../rows.ts'
import { recordOf, tenantId, type Context } from './context.ts'
import type { SqliteDatabase } from './database.ts'
import { headOf } from './log.ts'

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
  const tenant = tenantId(db, context, tenantName)
  const asked = queryWords(query)
  if (tenant === undefined || asked.length === 0) return []
  const sessionId = session === undefined ? null : headOf(db, context, tenant, session).id
  const words = asked.map((word) => `"${wordKey(context, tenantName, tenant, word)}"`)
  const candidates = new Map<number, Candidate>()

  const look = (match: string, count: number): void => {
    const rows = db.all(
      `SELECT r.id, r.version, r.body, r.sum, s.name AS session FROM words
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
      const record = recordOf(context, tenantName, row, place)
      if (record?.type === 'item-seen') candidates.set(id, { ...place, at: record.at, text: record.text })
    }
  }

  look(words.join(' AND '), limit)
  if (candidates.size < limit && words.length > 1) for (const word of words) look(word, PER_WORD)
  return rankCandidates([...candidates.values()], asked, limit)
}

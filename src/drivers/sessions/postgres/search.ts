import type { SearchHit } from '../../../ports/session-store.ts'
import type { Queries } from '../../postgres/connection.ts'
import { queryWords } from '../../../core/search-words.ts'
import { rankCandidates, type Candidate } from '../search-words.ts'
import { wordKey } from '../read-record.ts'
import { int, text } from '../rows.ts'
import { recordOf, tenantId, type Context } from './context.ts'

// Newest records looked at per word once no record holds all words; enough for a rare word to be found among common ones.
const PER_WORD = 50

/** Records with every word first; when they are too few, the newest with any of them. */
export async function search(
  queries: Queries,
  context: Context,
  tenantName: string,
  query: string,
  session: string | undefined,
  limit: number,
): Promise<SearchHit[]> {
  const tenant = await tenantId(queries, context, tenantName)
  const asked = queryWords(query)
  if (tenant === undefined || asked.length === 0) return []
  const words = asked.map((word) => `'${wordKey(context, tenantName, tenant, word)}'`)
  const candidates = new Map<number, Candidate>()

  const look = async (match: readonly string[], count: number): Promise<void> => {
    const rows = await queries.query(
      `SELECT r.id, r.version, r.body, r.sum, s.name AS session
       FROM unnest($1::text[]) AS q(word) CROSS JOIN LATERAL (
         SELECT DISTINCT w.record, w.session FROM words w
         WHERE w.words @@ q.word::tsquery AND ($2::text IS NULL OR w.session = (SELECT id FROM sessions WHERE tenant = $3 AND name = $2))
         ORDER BY w.record DESC LIMIT $4) hit
       JOIN records r ON r.id = hit.record JOIN sessions s ON s.id = hit.session`,
      [match, session ?? null, tenant, count],
    )
    for (const row of rows) {
      const id = int(row, 'id')
      if (candidates.has(id)) continue
      const place = { session: text(row, 'session'), version: int(row, 'version') }
      const record = recordOf(context, tenantName, row, place)
      if (record?.type === 'item-seen') candidates.set(id, { ...place, at: record.at, text: record.text })
    }
  }

  await look([words.join(' & ')], limit)
  if (candidates.size < limit && words.length > 1) await look(words, PER_WORD)
  return rankCandidates([...candidates.values()], asked, limit)
}

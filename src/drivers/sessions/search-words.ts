import type { ItemSeen } from '../../core/records.ts'
import type { SearchHit } from '../../ports/session-store.ts'
import type { Query } from '../../util/search/query.ts'
import { Corpus, type Counts, type Entry, headOf, indexOf } from '../../util/search/rank.ts'
import { readerOf, wordsOf } from '../../util/search/words.ts'

const EXCERPT_LENGTH = 240

/** Different words of one text, about, after which no further piece of it is indexed: such a text is data, and every word costs as much as one of prose. */
export const ENOUGH_WORDS = 20_000
const PIECE = 64 * 1024
const LONGEST_BETWEEN = 256

export interface StoredItem {
  readonly session: string
  readonly version: number
  readonly record: ItemSeen
}

const entryOf = ({ text, role, toolName: tool, at }: ItemSeen): Entry => ({ text, role, tool, at })

/** Distinct words of a record, for the index. */
export function indexWords(record: ItemSeen): string[] {
  const words = new Set<string>()
  for (const piece of wordPieces(record)) {
    for (const word of piece()) words.add(word)
    if (words.size >= ENOUGH_WORDS) break
  }
  return [...words]
}

/** The words of a record in pieces, from both ends of its text towards the middle: what is said first and last is looked for most. */
export function wordPieces(record: ItemSeen): readonly (() => readonly string[])[] {
  const { text } = record
  const read = readerOf(text)
  const pieces: (() => readonly string[])[] = []
  for (let from = 0; from < text.length;) {
    const [start, end] = [from, endOfPiece(text, from)]
    pieces.push(() => read(text.slice(start, end)))
    from = end
  }
  const head = (): readonly string[] => wordsOf(headOf(entryOf(record)))
  return [head, ...pieces.map((_, i) => pieces[i % 2 === 0 ? i / 2 : pieces.length - (i + 1) / 2]!)]
}

/** At white space, where there is some near. */
function endOfPiece(text: string, from: number): number {
  const end = from + PIECE
  if (end >= text.length) return text.length
  for (let i = end; i > end - LONGEST_BETWEEN; i--) if (text.charCodeAt(i) <= 32) return i
  return end
}

/** Records in the order of their best passage: the one ranking, with the counts of everything that the store holds. */
export function rankRecords(items: readonly StoredItem[], query: Query, counts: Counts, limit: number): SearchHit[] {
  const ordered = items.toSorted((a, b) => a.record.at - b.record.at || a.version - b.version)
  const corpus = new Corpus()
  for (const { record } of ordered) {
    const entry = entryOf(record)
    corpus.add({ entry, indexed: indexOf(entry), isApart: true })
  }
  const hits = new Map<number, SearchHit>()
  for (const { entry, passage } of corpus.rank(query, counts)) {
    if (hits.has(entry)) continue
    const { session, version, record } = ordered[entry]!
    const { from } = corpus.candidates[entry]!.indexed.spans[passage]!
    hits.set(entry, { session, version, excerpt: excerptOf(record.text, from) })
    if (hits.size >= limit) break
  }
  return [...hits.values()]
}

/** The passage that was found, whole characters only. */
export function excerptOf(text: string, from: number): string {
  const end = Math.min(text.length, from + EXCERPT_LENGTH)
  const middle = text
    .slice(from, end)
    .replace(/^[\udc00-\udfff]/, '')
    .replace(/[\ud800-\udbff]$/, '')
  return `${from > 0 ? '…' : ''}${middle}${end < text.length ? '…' : ''}`
}

import type { ItemSeen, LogRecord } from '../../core/records.ts'
import { type CallHead, searchedText } from '../../core/searched-text.ts'
import type { SearchHit, SearchOptions } from '../../ports/session-store.ts'
import type { Query } from '../../util/search/query.ts'
import { type Candidate, Corpus, type Counts, distinct, type Indexed, indexOf } from '../../util/search/rank.ts'
import { readerOf, wordsOf } from '../../util/search/words.ts'

const EXCERPT_LENGTH = 240

/** Different words of one text, about, after which no further piece of it is indexed: such a text is data, and every word costs as much as one of prose. */
export const ENOUGH_WORDS = 20_000
const PIECE = 64 * 1024
const LONGEST_BETWEEN = 256

export interface StoredItem {
  readonly session: string
  readonly version: number
  readonly record: LogRecord
}

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
  const said = searchedText(record, new Map())
  if (said === undefined) return []
  const { text } = said
  const read = readerOf(text)
  const pieces: (() => readonly string[])[] = []
  for (let from = 0; from < text.length;) {
    const [start, end] = [from, endOfPiece(text, from)]
    pieces.push(() => read(text.slice(start, end)))
    from = end
  }
  const head = (): readonly string[] => wordsOf(said.tool ?? '')
  return [head, ...pieces.map((_, i) => pieces[i % 2 === 0 ? i / 2 : pieces.length - (i + 1) / 2]!)]
}

/** At white space, where there is some near. */
function endOfPiece(text: string, from: number): number {
  const end = from + PIECE
  if (end >= text.length) return text.length
  for (let i = end; i > end - LONGEST_BETWEEN; i--) if (text.charCodeAt(i) <= 32) return i
  return end
}

/** The most records that are examined per word, newest first. The rarest word comes first, until there are enough records. */
export const PER_WORD = 100
export const ENOUGH_RECORDS = 300
/** Of the best records, what stands around them counts: neighbours for what was said, the call for a result. */
const MOST_PLACED = 40
const AROUND = 6

interface Range {
  readonly session: string
  /** Versions, both included. */
  readonly first: number
  readonly last: number
}

/** The positions of the best records, which are loaded before they are ranked. */
export function placesOf(found: readonly StoredItem[], query: Query, counts: Counts): Range[] {
  const { corpus, items } = corpusOf(found, false)
  const best = new Set(corpus.rank(query, counts).map(({ entry }) => entry))
  return [...best].slice(0, MOST_PLACED).map((entry) => {
    const { session, version } = items[entry]!
    return { session, first: version - AROUND, last: version + AROUND }
  })
}

/** Passages, or records in the order of their best one: the one ranking, with the counts of everything that the store holds. */
export function rankRecords(
  found: readonly StoredItem[],
  query: Query,
  counts: Counts,
  { inContext = false, limit }: SearchOptions & { readonly limit: number },
): SearchHit[] {
  const { corpus, items } = corpusOf(found, inContext)
  const isOneSession = (one: Placed, other: Placed): boolean => one.session === other.session
  const hits: SearchHit[] = []
  const known = new Set<number>()
  const ranked = distinct(corpus.candidates, corpus.rank(query, counts), Infinity, isOneSession)
  for (const { entry, passage, score } of ranked) {
    if (!inContext && known.has(entry)) continue
    known.add(entry)
    const { session, version } = items[entry]!
    const { from } = corpus.candidates[entry]!.indexed.spans[passage]!
    const excerpt = excerptOf(corpus.candidates[entry]!.entry.text, from)
    hits.push(inContext ? { session, version, excerpt, from, score } : { session, version, excerpt })
    if (hits.length >= limit) break
  }
  return hits
}

interface Placed extends Candidate {
  readonly session: string
}

/** Cached, because a record is ranked twice. */
const indexes = new WeakMap<LogRecord, { readonly about: string | undefined; readonly indexed: Indexed }>()

/** Sessions one after the other, the one that began last at the end, each in the order of its log. */
function corpusOf(found: readonly StoredItem[], inContext: boolean) {
  const began = new Map<string, number>()
  for (const { session, record } of found) began.set(session, Math.min(record.at, began.get(session) ?? Infinity))
  const ordered = found.toSorted(
    (a, b) =>
      began.get(a.session)! - began.get(b.session)! ||
      (a.session < b.session ? -1 : a.session > b.session ? 1 : a.version - b.version),
  )
  const corpus = new Corpus<Placed>()
  const items: StoredItem[] = []
  let calls = new Map<string, CallHead>()
  let last: StoredItem | undefined
  let isApart = false
  for (const one of ordered) {
    const { session, version, record } = one
    if (last?.session !== session) calls = new Map()
    isApart ||= !inContext || last?.session !== session || last.version + 1 < version
    last = one
    const entry = record.type === 'item-seen' ? searchedText(record, calls) : undefined
    if (entry === undefined) continue
    const known = indexes.get(record)
    const indexed = known !== undefined && known.about === entry.about ? known.indexed : indexOf(entry)
    indexes.set(record, { about: entry.about, indexed })
    corpus.add({ entry, indexed, isApart, session })
    items.push(one)
    isApart = false
  }
  return { corpus, items }
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

import type { Query } from './query.ts'
import { type Candidate, type Corpus, type Indexed, isAsked, type Ranked } from './rank.ts'

type Vector = readonly number[]

/** Kept as long as what they were made of: a message is embedded once. They are stored nowhere. */
const vectors = new WeakMap<Indexed, readonly Vector[]>()

/** Passages whose meaning is near to the query's, so many of them. */
const MOST_NEAR = 50
/** What is usual for reciprocal rank fusion. */
const RANK_OFFSET = 60

/** The ranks by words and by meaning as one: the sum of the reciprocal ranks of each passage. */
export async function rankByBoth(
  embed: (texts: readonly string[]) => Promise<readonly Vector[]>,
  { candidates }: Pick<Corpus, 'candidates'>,
  query: Query,
  byWords: readonly Ranked[],
): Promise<readonly Ranked[]> {
  const asked = candidates.flatMap((found, entry) => (isAsked(query, found.entry) ? [{ found, entry }] : []))
  const missing = asked.filter(({ found }) => !vectors.has(found.indexed))
  const texts = missing.map(({ found }) => passagesIn(found))
  const wanted = [query.text, ...texts.flat()]
  const [of, ...all] = await embed(wanted)
  // A model that is away is told of where it is asked.
  if (of === undefined || all.length < wanted.length - 1) return byWords
  let next = 0
  for (const [i, { found }] of missing.entries())
    vectors.set(found.indexed, all.slice(next, (next += texts[i]!.length)))
  const near = asked
    .flatMap(({ found, entry }) =>
      vectors.get(found.indexed)!.map((vector, passage): Ranked => ({ entry, passage, score: likeness(of, vector) })),
    )
    .sort((a, b) => b.score - a.score || b.entry - a.entry)
    .slice(0, MOST_NEAR)
  const both = new Map<string, Ranked>()
  for (const ranked of [byWords, near])
    for (const [rank, { entry, passage }] of ranked.entries()) {
      const key = `${entry}:${passage}`
      const score = (both.get(key)?.score ?? 0) + 1 / (RANK_OFFSET + rank)
      both.set(key, { entry, passage, score })
    }
  return [...both.values()].sort((a, b) => b.score - a.score || b.entry - a.entry || a.passage - b.passage)
}

const passagesIn = ({ entry, indexed }: Candidate): string[] =>
  indexed.spans.map(({ from, to }) => entry.text.slice(from, to))

/** The cosine of the angle between two vectors. */
function likeness(one: Vector, other: Vector): number {
  let [dot, squares, others] = [0, 0, 0]
  for (const [i, value] of one.entries()) {
    const beside = other[i] ?? 0
    dot += value * beside
    squares += value * value
    others += beside * beside
  }
  return dot / (Math.sqrt(squares * others) || 1)
}

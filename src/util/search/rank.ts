import { passagesOf, type Span } from './passages.ts'
import type { Query } from './query.ts'
import { numberOf, readerOf } from './words.ts'

/*
 * BM25F over passages. The fields of a passage are its own words, the tool and the file that its text came from, and the passages around
 * it: a question and its answer, a name and what is said of it, stand in neighbouring messages.
 */

/** Something that was said or returned. */
export interface Entry {
  readonly text: string
  readonly role: string
  readonly tool?: string
  /** The file or the command that a tool was called with. */
  readonly about?: string
  readonly at?: number
}

/** The words of an entry by passage, as numbers. */
export interface Indexed {
  readonly spans: readonly Span[]
  /** Where the words of each passage end. */
  readonly ends: Uint32Array
  readonly words: Uint32Array
  /** Of the tool and what it was called with. */
  readonly head: Uint32Array
}

/** How many passages there are, and how many hold each of the asked words. */
export interface Counts {
  readonly passages: number
  readonly holding: readonly number[]
}

export interface Candidate {
  readonly entry: Entry
  readonly indexed: Indexed
  /** What stands before it in the conversation is not among the candidates. */
  readonly isApart?: boolean
}

export interface Ranked {
  /** Which candidate. */
  readonly entry: number
  readonly passage: number
  readonly score: number
}

/** Saturation and normalisation by length, as they are used everywhere. */
const [K1, B] = [1.2, 0.75]
/** Words of a passage of usual length. The mean of a corpus would be another count for stores to keep, and moves results by a hundredth. */
const USUAL_LENGTH = 60
/** What the passages one and two away add. */
const AROUND = [0.5, 0.25] as const
/** What people wrote says what was wanted. */
const PEOPLE = 1.2
/** An exact string that was asked for. */
const EXACT = 3

export const headOf = ({ tool = '', about = '' }: Pick<Entry, 'tool' | 'about'>): string => `${tool} ${about}`.trim()

/** The words of each passage, for an index. */
export function passageWords(entry: Entry): { readonly head: readonly string[]; passages(): Generator<string[]> } {
  const read = readerOf(entry.text)
  return {
    head: readerOf('')(headOf(entry)),
    *passages() {
      for (const { from, to } of passagesOf(entry.text)) yield read(entry.text.slice(from, to))
    },
  }
}

export function indexOf(entry: Entry): Indexed {
  const { head, passages } = passageWords(entry)
  const words: number[] = []
  const ends: number[] = []
  for (const passage of passages()) {
    for (const word of passage) words.push(numberOf(word))
    ends.push(words.length)
  }
  return {
    spans: passagesOf(entry.text),
    ends: Uint32Array.from(ends),
    words: Uint32Array.from(words),
    head: Uint32Array.from(head, numberOf),
  }
}

/** Whether an entry is one of those that were asked about. */
export function isAsked({ file, tool, role, since, exact, isOnlyExact }: Query, entry: Entry): boolean {
  if (role !== undefined && entry.role !== role) return false
  if (tool !== undefined && entry.tool?.toLowerCase().includes(tool) !== true) return false
  if (file !== undefined && entry.about?.toLowerCase().includes(file) !== true) return false
  if (since !== undefined && entry.at !== undefined && entry.at < since) return false
  if (!isOnlyExact) return true
  const lower = entry.text.toLowerCase()
  return exact.every((one) => lower.includes(one))
}

/** Most words match no question: one look at this tells. */
const FILTER_SIZE = 1 << 16

/** Candidates in the order of their conversation; passages with a score, the best first, of equals the newest. `counts`: of what they were chosen from. */
export function rank(candidates: readonly Candidate[], query: Query, counts?: Counts): Ranked[] {
  const { places } = query
  const width = query.words.length
  const filter = new Uint8Array(FILTER_SIZE)
  for (const word of places.keys()) filter[word & (FILTER_SIZE - 1)] = 1
  const first: number[] = []
  let total = AROUND.length
  for (const { indexed, isApart } of candidates) {
    if (isApart === true) total += AROUND.length
    first.push(total)
    total += indexed.spans.length
  }
  const hits = new Float32Array((total + AROUND.length) * width)
  const isNear = new Uint8Array(total + AROUND.length)
  const holding = query.words.map(() => 0)
  let passages = 0
  for (const [c, { indexed }] of candidates.entries()) {
    const { ends, words, head } = indexed
    const ofHead = new Set<number>()
    for (const word of head) {
      const place = places.get(word)
      if (place !== undefined) ofHead.add(place)
    }
    passages += ends.length
    for (let p = 0, at = 0; p < ends.length; p++) {
      const end = ends[p]!
      const row = (first[c]! + p) * width
      const share = 1 / (1 - B + (B * (end - at)) / USUAL_LENGTH)
      let isHit = false
      for (const place of ofHead) {
        hits[row + place] = 1
        isHit = true
      }
      for (; at < end; at++) {
        if (filter[words[at]! & (FILTER_SIZE - 1)] === 0) continue
        const place = places.get(words[at]!)
        if (place === undefined) continue
        hits[row + place] = hits[row + place]! + share
        isHit = true
      }
      if (!isHit) continue
      for (let place = 0; place < width; place++) if (hits[row + place]! > 0) holding[place]!++
      for (let near = -AROUND.length; near <= AROUND.length; near++) isNear[first[c]! + p + near] = 1
    }
  }
  const known = counts ?? { passages, holding }
  const rarity = known.holding.map((held) => Math.log(1 + (Math.max(known.passages, held) - held + 0.5) / (held + 0.5)))
  const ranked: Ranked[] = []
  for (const [c, { entry, indexed }] of candidates.entries()) {
    if (!isAsked(query, entry)) continue
    const weight = entry.role === 'user' ? PEOPLE : 1
    for (let p = 0; p < indexed.spans.length; p++) {
      if (isNear[first[c]! + p] === 0) continue
      const score = scoreAt(hits, first[c]! + p, rarity) * weight * exactness(query, entry, indexed.spans[p]!)
      if (score > 0) ranked.push({ entry: c, passage: p, score })
    }
  }
  return ranked.sort((a, b) => b.score - a.score || b.entry - a.entry || a.passage - b.passage)
}

function scoreAt(hits: Float32Array, at: number, rarity: readonly number[]): number {
  const width = rarity.length
  let score = 0
  for (let place = 0; place < width; place++) {
    let count = hits[at * width + place]!
    for (const [i, share] of AROUND.entries())
      count += share * (hits[(at - i - 1) * width + place]! + hits[(at + i + 1) * width + place]!)
    score += (rarity[place]! * count * (K1 + 1)) / (count + K1)
  }
  return score
}

function exactness({ exact }: Query, { text }: Entry, { from, to }: Span): number {
  if (exact.length === 0) return 1
  const lower = text.slice(from, to).toLowerCase()
  return exact.some((one) => lower.includes(one)) ? EXACT : 1
}

/** Passages with nearly the same words are one. */
const ALIKE = 0.85
const LEAST_WORDS = 8

/** The best passages, each said once: of those that are nearly alike the newest, in the place of the best. */
export function distinct(candidates: readonly Candidate[], ranked: readonly Ranked[], most: number): Ranked[] {
  const kept: { ranked: Ranked; words: ReadonlySet<number>; text: string }[] = []
  for (const one of ranked) {
    if (kept.length >= most) break
    const { entry, indexed } = candidates[one.entry]!
    const { from, to } = indexed.spans[one.passage]!
    const words = new Set(wordsAt(indexed, one.passage))
    const text = entry.text.slice(from, to).trim()
    const same = kept.find((other) => other.text === text || isAlike(words, other.words))
    if (same === undefined) kept.push({ ranked: one, words, text })
    else if (one.entry > same.ranked.entry) Object.assign(same, { ranked: one, words, text })
  }
  return kept.map((one) => one.ranked)
}

const wordsAt = ({ words, ends }: Indexed, passage: number): Uint32Array =>
  words.subarray(passage === 0 ? 0 : ends[passage - 1], ends[passage])

function isAlike(one: ReadonlySet<number>, other: ReadonlySet<number>): boolean {
  const most = Math.max(one.size, other.size)
  if (one.size < LEAST_WORDS || Math.min(one.size, other.size) < ALIKE * most) return false
  let shared = 0
  for (const word of one) if (other.has(word)) shared++
  return shared >= ALIKE * most
}

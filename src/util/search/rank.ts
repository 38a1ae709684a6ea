import { passagesOf, type Span } from './passages.ts'
import type { Query } from './query.ts'
import { numberOf, readerOf, wordsOf } from './words.ts'

/*
 * BM25F over passages. The fields of a passage are its own words, the tool and the file that its text came from, and the passages around
 * it: a question and its answer, a name and what is said of it, stand in neighbouring messages.
 */

/** Something that was said or returned. */
export interface Entry {
  readonly text: string
  readonly role: string
  readonly tool?: string
  /** The file or command that the tool was called with. */
  readonly about?: string
  readonly at?: number
}

/** The words of an entry by passage, as numbers. */
export interface Indexed {
  readonly spans: readonly Span[]
  /** The end of each passage in `words`. */
  readonly ends: Uint32Array
  readonly words: Uint32Array
  /** The words of the tool's name and its argument. */
  readonly head: Uint32Array
}

/** How many entries there are, and how many hold each of the asked words. */
export interface Counts {
  readonly entries: number
  readonly holding: readonly number[]
}

export interface Candidate {
  readonly entry: Entry
  readonly indexed: Indexed
  /** The entry before it in the conversation is not among the candidates. */
  readonly isApart?: boolean
}

export interface Ranked {
  /** The index of the candidate. */
  readonly entry: number
  readonly passage: number
  readonly score: number
}

/** BM25's usual constants for saturation and length normalisation. */
const [K1, B] = [1.2, 0.75]
/**
 * The usual number of words of a passage. Using the mean of the corpus would be one more count for stores to keep, and changes results by a
 * hundredth.
 */
const USUAL_LENGTH = 60
/** The weights of the passages one and two positions away. */
const AROUND = [0.5, 0.25] as const
/** Text of users counts more, because it says what was wanted. */
const PEOPLE = 1.2
/** The factor for an exact string of the query. */
const EXACT = 3
/** A tool was called with the very file or command that a query names: so much, and up to twice that for what is new. */
const NAMED = 3
const SHORTEST_COMMAND = 6

const headOf = ({ tool = '', about = '' }: Pick<Entry, 'tool' | 'about'>): string => `${tool} ${about}`.trim()

/** The words of an entry as numbers, with all passages in the language of the whole entry. */
export function indexOf(entry: Entry): Indexed {
  const spans = passagesOf(entry.text)
  const read = readerOf(entry.text)
  const words: number[] = []
  const ends = spans.map(({ from, to }) => {
    for (const word of read(entry.text.slice(from, to))) words.push(numberOf(word))
    return words.length
  })
  return {
    spans,
    ends: Uint32Array.from(ends),
    words: Uint32Array.from(words),
    head: Uint32Array.from(wordsOf(headOf(entry)), numberOf),
  }
}

/** Whether an entry passes the query's filters. */
export function isAsked({ file, tool, role, since, exact, isOnlyExact }: Query, entry: Entry): boolean {
  if (role !== undefined && entry.role !== role) return false
  if (tool !== undefined && entry.tool?.toLowerCase().includes(tool) !== true) return false
  if (file !== undefined && entry.about?.toLowerCase().includes(file) !== true) return false
  if (since !== undefined && entry.at !== undefined && entry.at < since) return false
  if (!isOnlyExact) return true
  const lower = entry.text.toLowerCase()
  return exact.every((one) => lower.includes(one))
}

/** Entries in the order of their conversation, with an index of their words that grows with them. */
export class Corpus<C extends Candidate = Candidate> {
  readonly candidates: C[] = []
  /** The place of the first passage of each entry, among all. Before the first and behind the last there is room for what has no neighbours. */
  readonly #first: number[] = []
  /** The entry of each passage. */
  readonly #entries: number[] = []
  #next: number = AROUND.length
  #passed = 0
  /** Where each word stands, once for each time. */
  readonly #places = new Map<number, number[]>()
  /** What an occurrence counts in each passage: less in a long one. */
  readonly #shares: number[] = []
  /** Words of heads, by entry. */
  readonly #heads = new Map<number, number[]>()

  add(candidate: C): void {
    const { entry: said, indexed, isApart } = candidate
    const { ends, words, head } = indexed
    // What is said stands in a context; what a tool returns has only its own.
    const isTalk = said.tool === undefined && this.candidates.at(-1)?.entry.tool === undefined
    if (isApart === true || !isTalk) this.#next += AROUND.length
    const entry = this.candidates.push(candidate) - 1
    this.#first.push(this.#next)
    for (const word of new Set(head)) push(this.#heads, word, entry)
    for (let p = 0, at = 0; p < ends.length; p++, this.#next++) {
      const end = ends[p]!
      this.#entries[this.#next] = entry
      this.#shares[this.#next] = 1 / (1 - B + (B * (end - at)) / USUAL_LENGTH)
      for (; at < end; at++) push(this.#places, words[at]!, this.#next)
    }
  }

  /** Something that is not searched, and counted where entries are. */
  pass(): void {
    this.#passed++
  }

  /** The passages with the highest scores, of equal ones the newest. `counts`: of what the entries were chosen from. */
  rank(query: Query, counts?: Counts): Ranked[] {
    const hits = this.#hits(query)
    const { entries, holding } = counts ?? this.#counts(query)
    const rarity = holding.map((held) => Math.log(1 + (Math.max(entries, held) - held + 0.5) / (held + 0.5)))
    const best = new Best()
    const most = PEOPLE * (query.exact.length > 0 ? EXACT : 1) * 2 * NAMED
    for (let at = AROUND.length; at < this.#next; at++) {
      // A string of signs has no words: it is looked for in all texts.
      const around = hits.length === 0 && query.exact.length > 0 ? 1 : scoreAt(hits, at, rarity)
      // Looking at the entry takes longer than all that stands before this.
      if (around === 0 || around * most < best.least) continue
      const c = this.#entries[at]
      if (c === undefined) continue
      const { entry, indexed } = this.candidates[c]!
      if (!isAsked(query, entry)) continue
      const passage = at - this.#first[c]!
      const named = isNamed(query, entry) ? NAMED * (1 + c / this.candidates.length) : 1
      const weight = entry.role === 'user' ? PEOPLE : named
      const exact = exactness(query, entry, indexed.spans[passage]!)
      if (hits.length === 0 && exact === 1) continue
      best.add({ entry: c, passage, score: around * weight * exact })
    }
    return best.sorted()
  }

  /** By entries, as stores count: what a call was about, a store does not know of its result. */
  #counts({ words }: Query): Counts {
    const holding = words.map((forms) => {
      const held = new Set<number>()
      for (const form of forms) for (const at of this.#places.get(numberOf(form)) ?? []) held.add(this.#entries[at]!)
      return held.size
    })
    return { entries: this.candidates.length + this.#passed, holding }
  }

  /** For each asked word, what it counts in each passage. */
  #hits({ words, places }: Query): Float32Array[] {
    const hits = words.map(() => new Float32Array(this.#next + AROUND.length))
    for (const [word, place] of places) {
      const row = hits[place]!
      for (const at of this.#places.get(word) ?? []) row[at] = row[at]! + this.#shares[at]!
    }
    for (const [word, place] of places)
      for (const c of this.#heads.get(word) ?? []) {
        const { length } = this.candidates[c]!.indexed.spans
        for (let p = 0; p < length; p++) {
          const at = this.#first[c]! + p
          hits[place]![at] = hits[place]![at]! + 1
        }
      }
    return hits
  }
}

function push(lists: Map<number, number[]>, word: number, at: number): void {
  const list = lists.get(word)
  if (list === undefined) lists.set(word, [at])
  else list.push(at)
}

/** The next passages and those behind them add their shares. Plain loops: this is where the time of a query goes. */
function scoreAt(hits: readonly Float32Array[], at: number, rarity: readonly number[]): number {
  let score = 0
  for (let place = 0; place < hits.length; place++) {
    const row = hits[place]!
    let count = row[at]!
    for (let i = 1; i <= AROUND.length; i++) count += AROUND[i - 1]! * (row[at - i]! + row[at + i]!)
    if (count > 0) score += (rarity[place]! * count * (K1 + 1)) / (count + K1)
  }
  return score
}

/** No answer holds more passages. */
const MOST_RANKED = 400

/** The passages with the highest scores: to put all of a long conversation in order would take longer than to find them. */
class Best {
  #kept: Ranked[] = []
  /** Scores below it are not among them. */
  least = 0

  add(one: Ranked): void {
    this.#kept.push(one)
    if (this.#kept.length < 4 * MOST_RANKED) return
    this.#kept = this.sorted()
    this.least = this.#kept.at(-1)!.score
  }

  sorted(): Ranked[] {
    return this.#kept
      .sort((a, b) => b.score - a.score || b.entry - a.entry || a.passage - b.passage)
      .slice(0, MOST_RANKED)
  }
}

/** Files are named in full or by their end, commands as they were run. */
function isNamed({ text, files }: Query, { about = '', text: said }: Entry): boolean {
  // A call that says no more than what it was about repeats the question.
  if (about === '' || said === about) return false
  const lower = about.toLowerCase()
  if (lower.length >= SHORTEST_COMMAND && text.includes(lower)) return true
  return files.some((file) => lower.endsWith(file) || file.endsWith(`/${lower}`))
}

function exactness({ exact }: Query, { text }: Entry, { from, to }: Span): number {
  if (exact.length === 0) return 1
  const lower = text.slice(from, to).toLowerCase()
  return exact.some((one) => lower.includes(one)) ? EXACT : 1
}

/** How many of the asked words a passage itself has. */
export function wordsShared({ places }: Query, indexed: Indexed, passage: number): number {
  const shared = new Set<number>()
  for (const word of wordsAt(indexed, passage)) {
    const place = places.get(word)
    if (place !== undefined) shared.add(place)
  }
  return shared.size
}

/** Passages with nearly the same words are one. */
const ALIKE = 0.85
const LEAST_WORDS = 8

/** The best passages, each said once: of those that are nearly alike the newest, in the place of the best. */
export function distinct<C extends Candidate>(
  candidates: readonly C[],
  ranked: readonly Ranked[],
  most: number,
  areTogether: (one: C, other: C) => boolean = () => true,
): Ranked[] {
  const kept: { ranked: Ranked; words: ReadonlySet<number>; text: string }[] = []
  for (const one of ranked) {
    if (kept.length >= most) break
    const { entry, indexed } = candidates[one.entry]!
    const { from, to } = indexed.spans[one.passage]!
    const words = new Set(wordsAt(indexed, one.passage))
    const text = entry.text.slice(from, to).trim()
    const same = kept.find(
      (other) =>
        (other.text === text || isAlike(words, other.words)) &&
        areTogether(candidates[one.entry]!, candidates[other.ranked.entry]!),
    )
    if (same === undefined) kept.push({ ranked: one, words, text })
    else if (one.entry > same.ranked.entry)
      Object.assign(same, { ranked: { ...one, score: same.ranked.score }, words, text })
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

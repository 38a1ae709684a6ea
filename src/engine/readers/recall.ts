import { PlimsollError } from '../../core/errors.ts'
import type { Link } from '../../core/chain.ts'
import type { Item } from '../../core/item.ts'
import { type CallHead, searchedText } from '../../core/searched-text.ts'
import type { ItemSeen } from '../../core/records.ts'
import type { Embed } from '../../ports/embed.ts'
import type { SessionStore } from '../../ports/session-store.ts'
import { rankByBoth } from '../../util/search/meaning.ts'
import { type Query, readQuery, wordsQuery } from '../../util/search/query.ts'
import { type Candidate, Corpus, distinct, indexOf, type Ranked, wordsShared } from '../../util/search/rank.ts'
import { yieldNow } from '../../util/yield-now.ts'
import type { ReaderAnswer } from './reader.ts'
import { type Found, nearestWords, type Recalled, render } from './recall-answer.ts'

export interface RecallOptions {
  /** Entries shown at most. @default as many as the characters hold */
  readonly limit?: number
  /** Characters of the whole answer. @default 6000 */
  readonly maxCharacters?: number
}

/** A model asks for hits, and gets what stands beside one as part of it. */
interface AskedOptions extends RecallOptions {
  readonly areStretchesOne?: boolean
  /** Finds what means the same in other words. */
  readonly embed?: Embed
}

/** The items of one request, as the client wrote them. */
export interface RecallHistory {
  readonly items: readonly Item[]
  readonly links: readonly Link[]
  /** Takes secrets out of what is searched and shown. */
  readonly redact?: (text: string) => string
}

/** Whose archive is searched where no request is at hand. */
export interface ArchiveOwner {
  readonly tenant: string
  /** @default every session of the tenant */
  readonly session?: string
  /** @default every agent of the session */
  readonly agent?: string
}

type Archive = Pick<SessionStore, 'search' | 'read'>

/** What is looked through: everything, or what a store chose, which has been ranked already. */
export interface Searched {
  readonly corpus: Corpus<Found>
  readonly ranked?: readonly Ranked[]
}

const LEAST_CHARACTERS = 200
/** Records before one in which its call is looked for. */
const AROUND = 6
/** What scores less than this share of the best says nothing about what was asked. */
const LEAST_SHARE = 0.25
/** Passages that an answer is made of. */
const MOST_PASSAGES = 100

/**
 * Searches the history that a request brings along, in view or not. Nothing else is asked: what another conversation, another agent or
 * an abandoned branch said is not in it.
 */
export const recall = (history: RecallHistory, query: string, options: AskedOptions = {}): Promise<Recalled> =>
  answerFrom(() => historyFound(history), query, options)

/** What of a history is in view already, and how much may be said beside it. */
interface Beyond {
  /** The text of the view. */
  readonly shown: string
  /** The message that is asked for, by its index: it and what follows are not searched. */
  readonly before: number
  readonly maxCharacters: number
}

/** Where something in view matches better than by this much, the answer is there. */
const AS_GOOD = 0.9
/** Words that the best passage has in common with the message, at least, and their share of the message's; a long message is not about all of its words. */
const LEAST_WORDS = 2
const LEAST_COVERED = 0.4
const MOST_COUNTED = 12

/** The passages out of view that match a message, unless something in view matches it better; undefined where there are none. */
export async function recallBeyond(
  history: RecallHistory,
  message: string,
  { shown, before, maxCharacters }: Beyond,
): Promise<string | undefined> {
  const query = wordsQuery(message)
  const { corpus } = await historyFound(history)
  const found = corpus.candidates
  const textOf = ({ entry, passage }: Ranked): string => {
    const { from, to } = found[entry]!.indexed.spans[passage]!
    return found[entry]!.entry.text.slice(from, to)
  }
  const best = distinct(found, corpus.rank(query), MOST_PASSAGES).filter(({ entry }) => found[entry]!.index < before)
  const inView = best.find((one) => shown.includes(textOf(one)))
  const beyond = telling(best.filter((one) => !shown.includes(textOf(one))))
  const [first] = beyond
  if (first === undefined || first.score < AS_GOOD * (inView?.score ?? 0)) return undefined
  const shared = wordsShared(query, found[first.entry]!.indexed, first.passage)
  if (shared < Math.max(LEAST_WORDS, LEAST_COVERED * Math.min(MOST_COUNTED, query.words.length))) return undefined
  return render(found, beyond, { most: MOST_PASSAGES, room: maxCharacters, areStretchesOne: false, isBlock: true }).text
}

/** Searches what the archive holds: for a process that has not seen a request of the session yet. */
export const recallArchived = (
  archive: Archive,
  owner: ArchiveOwner,
  query: string,
  options: AskedOptions = {},
  known?: ArchivedSession,
): Promise<Recalled> =>
  answerFrom(() => archiveFound(archive, owner, query, known ?? new ArchivedSession()), query, options)

async function answerFrom(
  look: (query: Query) => Promise<Searched>,
  text: string,
  { limit = MOST_PASSAGES, maxCharacters = 6_000, areStretchesOne = false, embed }: AskedOptions,
): Promise<Recalled> {
  if (text.trim() === '') throw new PlimsollError('bad-input', 'recall needs a query: the words to look for.')
  const query = readQuery(text, Date.now())
  const { corpus, ranked: given } = await look(query)
  const found = corpus.candidates
  const byWords = given ?? corpus.rank(query)
  const isMeant = embed !== undefined && given === undefined && !query.isOnlyExact
  // Scores by words say what is too far behind the best to be told; ranks put together do not.
  const best = isMeant
    ? distinct(found, await rankByBoth(embed, corpus, query, telling(byWords)), MOST_PASSAGES)
    : telling(distinct(found, byWords, MOST_PASSAGES))
  const note =
    query.noTime === undefined ? '' : `(since:${query.noTime.slice(0, 40)} is no time: give 2h, 3d or a date.)\n`
  const room = Math.max(LEAST_CHARACTERS, maxCharacters) - note.length
  if (best.length === 0) return { items: [], text: note + (await nearestWords(found, query, text)).slice(0, room) }
  const answer = render(found, best, { most: Math.max(1, Math.floor(limit)), room, areStretchesOne })
  return { ...answer, text: note + answer.text }
}

const telling = (ranked: readonly Ranked[]): readonly Ranked[] =>
  ranked.filter(({ score }) => score >= LEAST_SHARE * ranked[0]!.score)

/** What was indexed of a history, found again by its first item: the next request has a few items more. */
interface Indexed {
  readonly items: Item[]
  readonly redact: RecallHistory['redact']
  readonly calls: Map<string, CallHead>
  readonly said: Map<string, Found>
  readonly corpus: Corpus<Found>
}

const histories = new WeakMap<Item, Indexed>()

async function historyFound({ items, links, redact }: RecallHistory): Promise<Searched> {
  const [first] = items
  if (first === undefined) return { corpus: new Corpus() }
  const before = histories.get(first)
  const isGrown = before?.redact === redact && before?.items.every((item, i) => item === items[i]) === true
  const known: Indexed = isGrown
    ? before!
    : { items: [], redact, calls: new Map(), said: new Map(), corpus: new Corpus() }
  histories.set(first, known)
  const identities = new Map(links.map(({ index, identity }) => [index, identity]))
  const pause = yieldNow()
  // Another search of the same history may go on with it while this one waits.
  while (known.items.length < items.length) {
    const index = known.items.length
    const item = items[index]!
    known.items.push(item)
    const indexed = indexedItem(item, known.calls, redact)
    const { kind, callId, id } = item
    const identity = identities.get(index) ?? `outside:${id}`
    const again = known.said.get(identity)
    // An archive holds once what was said again in the same words, and it says no more than before.
    if (again !== undefined && indexed?.entry.tool === undefined) again.name = `#${index + 1}`
    else if (indexed === undefined) known.corpus.pass()
    else {
      const found = { ...indexed, identity, kind, callId, index, name: `#${index + 1}` }
      known.said.set(identity, found)
      known.corpus.add(found)
    }
    await pause()
  }
  return known
}

/** What a session's log says, as far as it was read: a further search reads what is new. */
export class ArchivedSession {
  readonly #corpus = new Corpus<Found>()
  readonly #calls = new Map<string, CallHead>()
  readonly #known = new Set<string>()
  #version = 0

  async read(archive: Archive, tenant: string, session: string, agent?: string): Promise<Corpus<Found>> {
    const pause = yieldNow()
    for await (const { version, record } of archive.read(tenant, session, this.#version)) {
      // Another search may read at the same time.
      if (version <= this.#version) continue
      this.#version = version
      if (record.type !== 'item-seen' || (agent !== undefined && record.agent !== agent)) continue
      // A further form of what is known, or another agent with the same beginning.
      if (this.#known.has(record.identity)) continue
      this.#known.add(record.identity)
      const found = foundIn(record, this.#calls, `#${version}`)
      if (found === undefined) this.#corpus.pass()
      else this.#corpus.add(found)
      await pause()
    }
    return this.#corpus
  }
}

/** One session is read whole. Of a tenant, the store chooses records and puts them in order. */
async function archiveFound(
  archive: Archive,
  { tenant, session, agent }: ArchiveOwner,
  text: string,
  known: ArchivedSession,
): Promise<Searched> {
  if (session !== undefined) return { corpus: await known.read(archive, tenant, session, agent) }
  const corpus = new Corpus<Found>()
  const ranked: Ranked[] = []
  const entries = new Map<string, number>()
  for (const hit of await archive.search(tenant, text, { limit: MOST_PASSAGES, inContext: true })) {
    const { session: of, version, from, score = 1 / (1 + ranked.length) } = hit
    const name = `${of}#${version}`
    if (!entries.has(name)) {
      const one = await foundAt(archive, tenant, of, version, agent)
      if (one === undefined) continue
      entries.set(name, corpus.candidates.length)
      corpus.add(one)
    }
    const entry = entries.get(name)!
    const { spans } = corpus.candidates[entry]!.indexed
    const passage = spans.findIndex((span) => span.from === from)
    ranked.push({ entry, passage: Math.max(0, passage), score })
  }
  return { corpus, ranked }
}

/** A record as it is shown, with what its call was about where that was written shortly before. */
async function foundAt(
  archive: Archive,
  tenant: string,
  session: string,
  version: number,
  agent: string | undefined,
): Promise<Found | undefined> {
  const calls = new Map<string, CallHead>()
  for await (const { version: at, record } of archive.read(tenant, session, Math.max(0, version - 1 - AROUND))) {
    if (record.type === 'item-seen') {
      const found = foundIn(record, calls, `${session}#${at}`)
      if (at === version) return agent !== undefined && record.agent !== agent ? undefined : found
    }
    if (at >= version) return undefined
  }
  return undefined
}

function foundIn(record: ItemSeen, calls: Map<string, CallHead>, name: string): Found | undefined {
  const entry = searchedText(record, calls)
  if (entry === undefined) return undefined
  const { identity, kind, callId } = record
  return { entry, indexed: indexOf(entry), identity, kind, callId, index: 0, name }
}

/** What is kept of an item: its index, and what its results are found by. */
interface Kept extends Partial<Pick<Candidate, 'entry' | 'indexed'>> {
  readonly redact: Redact | undefined
  readonly head: CallHead | undefined
}

type Redact = (text: string) => string

const kept = new WeakMap<Item, Kept>()

/** An item is indexed when it is first searched, and costs nothing before; an item that is sent again is the same object. */
function indexedItem(
  item: Item,
  calls: Map<string, CallHead>,
  redact?: Redact,
): Pick<Candidate, 'entry' | 'indexed'> | undefined {
  let known = kept.get(item)
  if (known === undefined || known.redact !== redact || !isSameCall(item, known, calls)) {
    const entry = searchedText(item, calls, redact)
    const head = item.callId === undefined ? undefined : calls.get(item.callId)
    known = { redact, head, entry, indexed: entry && indexOf(entry) }
    kept.set(item, known)
  }
  const { entry, indexed, head } = known
  if (item.kind === 'call' && item.callId !== undefined && head !== undefined) calls.set(item.callId, head)
  return entry === undefined || indexed === undefined ? undefined : { entry, indexed }
}

const isSameCall = ({ kind, callId }: Item, { head }: Kept, calls: ReadonlyMap<string, CallHead>): boolean =>
  kind === 'call' || callId === undefined || calls.get(callId) === head

/** What a call of the `recall` tool gets. */
export interface RecallAnswer extends ReaderAnswer, Recalled {}

/** Answers a call of the `recall` tool. What the model did wrong is part of the answer. */
export async function answerRecall(
  search: (query: string, options: AskedOptions) => Promise<Recalled>,
  input: unknown,
): Promise<RecallAnswer> {
  const given = (typeof input === 'object' && input !== null ? input : {}) as Record<string, unknown>
  const { query, limit, max_characters: maxCharacters } = given
  if (typeof query !== 'string' || query.trim() === '')
    return { ok: false, text: 'recall needs a query: the words to look for.', items: [], handles: [], truncated: false }
  const { items, text } = await search(query, {
    limit: typeof limit === 'number' && limit >= 1 ? limit : undefined,
    areStretchesOne: true,
    maxCharacters: typeof maxCharacters === 'number' ? maxCharacters : undefined,
  })
  return { ok: true, text, items, handles: [], truncated: items.some((item) => item.excerpt.length < item.characters) }
}

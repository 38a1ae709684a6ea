import { PlimsollError } from '../../core/errors.ts'
import { isRecord, parsedJson } from '../../core/values.ts'
import type { Link } from '../../core/chain.ts'
import type { Item } from '../../core/item.ts'
import { stringsIn } from '../../core/quotes.ts'
import type { ItemSeen } from '../../core/records.ts'
import type { SessionStore } from '../../ports/session-store.ts'
import { type Query, readQuery } from '../../util/search/query.ts'
import { type Candidate, Corpus, distinct, type Entry, indexOf, type Ranked } from '../../util/search/rank.ts'
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
/** Records that a store is asked for. */
const CANDIDATES = 60
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

/** Searches what the archive holds: for a process that has not seen a request of the session yet. */
export const recallArchived = (
  archive: Archive,
  owner: ArchiveOwner,
  query: string,
  options: AskedOptions = {},
  known?: ArchivedSession,
): Promise<Recalled> =>
  answerFrom((asked) => archiveFound(archive, owner, query, asked, known ?? new ArchivedSession()), query, options)

async function answerFrom(
  look: (query: Query) => Promise<Searched>,
  text: string,
  { limit = MOST_PASSAGES, maxCharacters = 6_000, areStretchesOne = false }: AskedOptions,
): Promise<Recalled> {
  if (text.trim() === '') throw new PlimsollError('bad-input', 'recall needs a query: the words to look for.')
  const query = readQuery(text, Date.now())
  const { corpus, ranked = telling(corpus.rank(query)) } = await look(query)
  const found = corpus.candidates
  const best = distinct(found, ranked, MOST_PASSAGES)
  const room = Math.max(LEAST_CHARACTERS, maxCharacters)
  if (best.length === 0) return { items: [], text: (await nearestWords(found, query, text)).slice(0, room) }
  return render(found, best, { most: Math.max(1, Math.floor(limit)), room, areStretchesOne })
}

const telling = (ranked: readonly Ranked[]): readonly Ranked[] =>
  ranked.filter(({ score }) => score >= LEAST_SHARE * ranked[0]!.score)

/** What was indexed of a history, found again by its first item: the next request has a few items more. */
interface Indexed {
  readonly items: Item[]
  readonly redact: RecallHistory['redact']
  readonly calls: Map<string, CallHead>
  readonly corpus: Corpus<Found>
}

const histories = new WeakMap<Item, Indexed>()

async function historyFound({ items, links, redact }: RecallHistory): Promise<Searched> {
  const [first] = items
  if (first === undefined) return { corpus: new Corpus() }
  const before = histories.get(first)
  const isGrown = before?.redact === redact && before?.items.every((item, i) => item === items[i]) === true
  const known: Indexed = isGrown ? before! : { items: [], redact, calls: new Map(), corpus: new Corpus() }
  histories.set(first, known)
  const identities = new Map(links.map(({ index, identity }) => [index, identity]))
  const pause = yieldNow()
  // Another search of the same history may go on with it while this one waits.
  while (known.items.length < items.length) {
    const index = known.items.length
    const item = items[index]!
    known.items.push(item)
    const indexed = indexedItem(item, known.calls, redact)
    if (indexed !== undefined) {
      const { kind, callId, id } = item
      const identity = identities.get(index) ?? `outside:${id}`
      known.corpus.add({ ...indexed, identity, kind, callId, name: `#${index + 1}` })
    }
    await pause()
  }
  return known
}

/** What a session's log says, as far as it was read: a further search reads what is new. */
export class ArchivedSession {
  readonly #corpus = new Corpus<Found>()
  readonly #calls = new Map<string, CallHead>()
  #version = 0

  async read(archive: Archive, tenant: string, session: string, agent?: string): Promise<Corpus<Found>> {
    const pause = yieldNow()
    for await (const { version, record } of archive.read(tenant, session, this.#version)) {
      // Another search may read at the same time.
      if (version <= this.#version) continue
      this.#version = version
      if (record.type !== 'item-seen' || (agent !== undefined && record.agent !== agent)) continue
      const found = foundIn(record, this.#calls, `#${version}`)
      if (found !== undefined) this.#corpus.add(found)
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
  query: Query,
  known: ArchivedSession,
): Promise<Searched> {
  if (session !== undefined) return { corpus: await known.read(archive, tenant, session, agent) }
  const corpus = new Corpus<Found>()
  const ranked: Ranked[] = []
  for (const { session: of, version } of await archive.search(tenant, text, { limit: CANDIDATES })) {
    const record = await recordAt(archive, tenant, of, version)
    if (record === undefined || (agent !== undefined && record.agent !== agent)) continue
    const one = foundIn(record, new Map(), `${of}#${version}`)
    if (one === undefined) continue
    const alone = new Corpus()
    alone.add(one)
    const best = alone.rank(query)[0]
    if (best !== undefined) ranked.push({ ...best, entry: corpus.candidates.length })
    corpus.add(one)
  }
  return { corpus, ranked }
}

async function recordAt(
  archive: Archive,
  tenant: string,
  session: string,
  version: number,
): Promise<ItemSeen | undefined> {
  for await (const { record } of archive.read(tenant, session, version - 1))
    return record.type === 'item-seen' ? record : undefined
  return undefined
}

function foundIn(record: ItemSeen, calls: Map<string, CallHead>, name: string): Found | undefined {
  const entry = entryOf(record as ItemSeen & Pick<Item, 'kind' | 'role'>, calls)
  if (entry === undefined) return undefined
  const { identity, kind, callId } = record
  return { entry, indexed: indexOf(entry), identity, kind, callId, name }
}

type Said = Pick<Item, 'kind' | 'role' | 'text'> & Pick<ItemSeen, 'callId' | 'toolName'> & { readonly at?: number }

/** What a call was about: a result is found by it. */
interface CallHead {
  readonly tool: string | undefined
  readonly about: string
}

const TELLING = /path|file|command|cmd|url|pattern|query/i
const LONGEST_ABOUT = 200

/** The file or the command among the arguments of a call. */
function aboutOf(text: string): string {
  const input = parsedJson(text)
  if (!isRecord(input)) return ''
  return Object.entries(input)
    .flatMap(([key, value]) => (TELLING.test(key) && typeof value === 'string' ? [value.split('\n', 1)[0]!] : []))
    .join(' ')
    .slice(0, LONGEST_ABOUT)
}

/** Answers of `recall` repeat what is found anyway, thoughts are no part of the archive, and the system prompt is always in view. */
const isSearched = ({ kind, text }: Said, tool: string | undefined): boolean =>
  text !== '' &&
  kind !== 'reasoning' &&
  kind !== 'instruction' &&
  !/(?:^|__)(?:recall|artifact_[a-z]+)$/.test(tool ?? '')

/** Undefined for what is not searched. `calls` takes the heads of calls, for their results. */
function entryOf(said: Said, calls: Map<string, CallHead>, redact?: (text: string) => string): Entry | undefined {
  const { kind, role, callId, toolName, at } = said
  const isCall = kind === 'call'
  const text = redact?.(said.text) ?? said.text
  if (isCall && callId !== undefined) calls.set(callId, { tool: toolName, about: aboutOf(text) })
  const head = callId === undefined ? undefined : calls.get(callId)
  const tool = toolName ?? head?.tool
  if (!isSearched(said, tool)) return undefined
  return {
    // The strings of a call as they are meant: escaped, a line of code would not be found.
    text: isCall ? stringsIn(parsedJson(text) ?? text).join('\n') : text,
    role,
    tool,
    about: head?.about,
    at,
  }
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
    const entry = entryOf(item, calls, redact)
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

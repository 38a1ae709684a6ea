import type { Link } from '../../core/chain.ts'
import { PlimsollError } from '../../core/errors.ts'
import type { Item } from '../../core/item.ts'
import { queryWords } from '../../core/search-words.ts'
import type { ReaderAnswer } from './reader.ts'
import type { SessionStore } from '../../ports/session-store.ts'
import { yieldNow } from '../../util/yield-now.ts'

export interface RecallOptions {
  /** Items shown, at most 20. @default 8 */
  readonly limit?: number
  /** Characters of the whole answer. @default 6000 */
  readonly maxCharacters?: number
}

export interface RecalledItem {
  readonly identity: string
  readonly kind: string
  readonly toolName?: string
  readonly callId?: string
  /** When it was archived; absent where it was found in the request at hand. */
  readonly at?: number
  /** The part of its text around what was asked for. */
  readonly excerpt: string
  /** Characters of the whole text. */
  readonly characters: number
  /** Opens the whole text, where the excerpt is only a part of it. */
  readonly handle?: string
}

export interface Recalled {
  readonly items: readonly RecalledItem[]
  /** The same for a model to read, within the bound. */
  readonly text: string
}

/** The items of one request, as the client wrote them. */
export interface RecallHistory {
  readonly items: readonly Item[]
  readonly links: readonly Link[]
  /** Takes secrets out of what is searched and shown. */
  readonly redact?: (text: string) => string
  /** Stores a text that is too long to be shown whole, for a reader to open. */
  readonly store?: (found: {
    readonly text: string
    readonly toolName?: string
    readonly callId?: string
  }) => Promise<string>
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
type Found = Omit<RecalledItem, 'excerpt' | 'characters'> & { readonly text: string }

const MAX_ITEMS = 20
/** Hits that are looked through. */
const CANDIDATES = 60
const LEAST_EXCERPT = 200

/**
 * Searches the history that a request brings along, in view or not. Nothing else is asked: what another conversation, another agent or
 * an abandoned branch said is not in it.
 */
export const recall = (history: RecallHistory, query: string, options: RecallOptions = {}): Promise<Recalled> =>
  answerFrom((limit) => itemsOf(history, query, limit), query, options, history.store)

/** Searches what the archive holds: for a process that has not seen a request of the session yet. */
export const recallArchived = (
  archive: Archive,
  owner: ArchiveOwner,
  query: string,
  options: RecallOptions = {},
  store?: RecallHistory['store'],
): Promise<Recalled> => answerFrom((limit) => archivedItems(archive, owner, query, limit), query, options, store)

/** Never more than the bound, whatever was found. */
async function answerFrom(
  find: (limit: number) => Promise<readonly Found[]>,
  query: string,
  options: RecallOptions,
  store?: RecallHistory['store'],
): Promise<Recalled> {
  if (query.trim() === '') throw new PlimsollError('bad-input', 'recall needs a query: the words to look for.')
  const limit = Math.min(MAX_ITEMS, Math.max(1, Math.floor(options.limit ?? 8)))
  const maxCharacters = Math.max(LEAST_EXCERPT, options.maxCharacters ?? 6_000)
  const found = await find(limit)
  const each = Math.max(LEAST_EXCERPT, Math.floor(maxCharacters / Math.max(1, found.length)) - 120)
  const items: RecalledItem[] = []
  for (const { text, ...item } of found) {
    const excerpt = around(text, query, each)
    const handle = excerpt === text ? undefined : await store?.({ text, ...item })
    items.push({ ...item, excerpt, characters: text.length, handle })
  }
  return { items, text: render(items, query, maxCharacters) }
}

/** What holds the query verbatim comes first, then what holds most of its words, the newest first. */
async function itemsOf({ items, links, redact }: RecallHistory, query: string, limit: number): Promise<Found[]> {
  const words = queryWords(query)
  const identities = new Map(links.map(({ index, identity }) => [index, identity]))
  const scored: { readonly index: number; readonly text: string; readonly score: number }[] = []
  const seen = new Set<string>()
  const pause = yieldNow()
  for (let index = items.length - 1; index >= 0; index--) {
    const item = items[index]!
    if (item.text === '') continue
    const text = redact?.(item.text) ?? item.text
    const lower = text.toLowerCase()
    const hits = words.filter((word) => lower.includes(word)).length
    const identity = identities.get(index)
    if (hits > 0 && (identity === undefined || !seen.has(identity)))
      scored.push({ index, text, score: verbatim(lower, query) + hits / words.length })
    if (identity !== undefined) seen.add(identity)
    await pause()
  }
  return scored
    .sort((a, b) => b.score - a.score || b.index - a.index)
    .slice(0, limit)
    .map(({ index, text }) => {
      const { id, kind, toolName, callId } = items[index]!
      return {
        identity: identities.get(index) ?? `outside:${id}`,
        kind,
        toolName,
        callId,
        text,
      }
    })
}

/** The store finds words; a path or an identifier is several of them, so what holds the query verbatim comes first. */
async function archivedItems(
  archive: Archive,
  { tenant, session, agent }: ArchiveOwner,
  query: string,
  limit: number,
): Promise<Found[]> {
  const items = new Map<string, Found>()
  const within = session === undefined ? {} : { session }
  for (const hit of await archive.search(tenant, query, { ...within, limit: CANDIDATES })) {
    const item = await itemAt(archive, tenant, hit.session, hit.version, agent)
    if (item !== undefined && !items.has(item.identity)) items.set(item.identity, item)
  }
  return [...items.values()]
    .map((item) => ({ item, score: verbatim(item.text.toLowerCase(), query) }))
    .sort((a, b) => b.score - a.score)
    .slice(0, limit)
    .map(({ item }) => item)
}

/** How much of the query stands in the text as it was written: all of it, else a share of its parts. */
function verbatim(lower: string, query: string): number {
  const wanted = query.trim().toLowerCase()
  if (lower.includes(wanted)) return 1
  const parts = wanted.split(/\s+/)
  return (0.9 * parts.filter((part) => lower.includes(part)).length) / parts.length
}

async function itemAt(
  archive: Archive,
  tenant: string,
  session: string,
  version: number,
  agent: string | undefined,
): Promise<Found | undefined> {
  for await (const { record } of archive.read(tenant, session, version - 1)) {
    if (record.type !== 'item-seen' || (agent !== undefined && record.agent !== agent)) return undefined
    const { identity, kind, toolName, callId, at, text } = record
    return {
      identity,
      kind,
      toolName,
      callId,
      at,
      text,
    }
  }
  return undefined
}

/** Whole lines around the first word that was found, where lines are short enough. */
function around(text: string, query: string, characters: number): string {
  if (text.length <= characters) return text
  const lower = text.toLowerCase()
  const words = [query.trim(), ...query.split(/[^\p{L}\p{N}_./-]+/u)].filter((word) => word.length > 1)
  const places = words.map((word) => lower.indexOf(word.toLowerCase())).filter((at) => at >= 0)
  const room = characters - 2
  const from = Math.max(0, Math.min((places[0] ?? 0) - Math.floor(room / 3), text.length - room))
  const lineStart = text.indexOf('\n', from)
  const start = from > 0 && lineStart >= 0 && lineStart < (places[0] ?? 0) ? lineStart + 1 : from
  const part = text.slice(start, start + room).replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '')
  return `${start > 0 ? '…' : ''}${part}${start + room < text.length ? '…' : ''}`
}

function render(items: readonly RecalledItem[], query: string, maxCharacters: number): string {
  if (items.length === 0) return `Nothing in this conversation mentions ${JSON.stringify(query.slice(0, 100))}.`
  const parts = items.map(({ kind, toolName, excerpt, characters, handle }, i) => {
    const what = toolName === undefined ? kind : `${kind} of ${toolName}`
    const size = excerpt.length < characters ? `, part of ${characters.toLocaleString('en')} characters` : ''
    const whole = handle === undefined ? '' : `, whole: ${handle}`
    return `${i + 1}. [${what}${size}${whole}]\n${excerpt}`
  })
  let text = ''
  for (const [i, part] of parts.entries()) {
    const next = text === '' ? part : `${text}\n\n${part}`
    if (next.length > maxCharacters) {
      const rest = `\n\n(${parts.length - i} more found; ask for something narrower.)`
      return text === '' ? part.slice(0, maxCharacters) : `${text}${rest}`.slice(0, maxCharacters)
    }
    text = next
  }
  return text
}

/** What a call of the `recall` tool gets. */
export interface RecallAnswer extends ReaderAnswer, Recalled {}

/** Answers a call of the `recall` tool. What the model did wrong is part of the answer. */
export async function answerRecall(
  search: (query: string, options: RecallOptions) => Promise<Recalled>,
  input: unknown,
): Promise<RecallAnswer> {
  const { query, limit } = (typeof input === 'object' && input !== null ? input : {}) as Record<string, unknown>
  if (typeof query !== 'string' || query.trim() === '')
    return { ok: false, text: 'recall needs a query: the words to look for.', items: [], handles: [], truncated: false }
  const { items, text } = await search(query, typeof limit === 'number' && limit >= 1 ? { limit } : {})
  const handles = items.flatMap(({ handle }) => (handle === undefined ? [] : [handle]))
  return { ok: true, text, items, handles, truncated: items.some((item) => item.excerpt.length < item.characters) }
}

import { PlimsollError } from '../../core/errors.ts'
import type { ItemSeen } from '../../core/records.ts'
import type { SessionStore } from '../../ports/session-store.ts'

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
  readonly at: number
  /** The part of its text around what was asked for. */
  readonly excerpt: string
  /** Characters of the whole text. */
  readonly characters: number
}

export interface Recalled {
  readonly items: readonly RecalledItem[]
  /** The same for a model to read, within the bound. */
  readonly text: string
}

export interface RecallOwner {
  readonly tenant: string
  readonly session: string
}

type Archive = Pick<SessionStore, 'search' | 'read'>

const MAX_ITEMS = 20
/** Hits that are looked through. */
const CANDIDATES = 60
const LEAST_EXCERPT = 200

/** Searches what this conversation has shown, in view or not. Never more than the bound, whatever was found. */
export async function recall(
  archive: Archive,
  owner: RecallOwner,
  query: string,
  options: RecallOptions = {},
): Promise<Recalled> {
  if (query.trim() === '') throw new PlimsollError('bad-input', 'recall needs a query: the words to look for.')
  const limit = Math.min(MAX_ITEMS, Math.max(1, Math.floor(options.limit ?? 8)))
  const maxCharacters = Math.max(LEAST_EXCERPT, options.maxCharacters ?? 6_000)
  const found = await itemsFor(archive, owner, query, limit)
  const each = Math.max(LEAST_EXCERPT, Math.floor(maxCharacters / Math.max(1, found.length)) - 120)
  const items = found.map((item) => recalledItem(item, query, each))
  return { items, text: render(items, query, maxCharacters) }
}

/** The store finds words; a path or an identifier is several of them, so what holds the query verbatim comes first. */
async function itemsFor(archive: Archive, owner: RecallOwner, query: string, limit: number): Promise<ItemSeen[]> {
  const { tenant, session } = owner
  const items = new Map<string, ItemSeen>()
  for (const hit of await archive.search(tenant, query, { session, limit: CANDIDATES })) {
    const item = await itemAt(archive, tenant, hit.session, hit.version)
    if (item !== undefined && !items.has(item.identity)) items.set(item.identity, item)
  }
  return [...items.values()]
    .map((item) => ({ item, score: verbatim(item.text, query) }))
    .sort((a, b) => b.score - a.score)
    .slice(0, limit)
    .map(({ item }) => item)
}

/** How much of the query stands in the text as it was written: all of it, else a share of its parts. */
function verbatim(text: string, query: string): number {
  const lower = text.toLowerCase()
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
): Promise<ItemSeen | undefined> {
  for await (const { record } of archive.read(tenant, session, version - 1))
    return record.type === 'item-seen' ? record : undefined
  return undefined
}

function recalledItem(item: ItemSeen, query: string, characters: number): RecalledItem {
  const { identity, kind, toolName, callId, at, text } = item
  return {
    identity,
    kind,
    ...(toolName !== undefined && { toolName }),
    ...(callId !== undefined && { callId }),
    at,
    excerpt: around(text, query, characters),
    characters: text.length,
  }
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
  const parts = items.map(({ kind, toolName, excerpt, characters }, i) => {
    const what = toolName === undefined ? kind : `${kind} of ${toolName}`
    const size = excerpt.length < characters ? `, part of ${characters.toLocaleString('en')} characters` : ''
    return `${i + 1}. [${what}${size}]\n${excerpt}`
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

/** Answers a call of the `recall` tool. What the model did wrong is part of the answer. */
export async function answerRecall(archive: Archive, owner: RecallOwner, input: unknown): Promise<string> {
  const { query, limit } = (typeof input === 'object' && input !== null ? input : {}) as Record<string, unknown>
  if (typeof query !== 'string' || query.trim() === '') return 'recall needs a query: the words to look for.'
  const { text } = await recall(archive, owner, query, typeof limit === 'number' && limit >= 1 ? { limit } : {})
  return text
}

import type { Codec } from '../../core/codec.ts'
import type { Conversation } from '../../core/conversation.ts'
import { PlimsollError } from '../../core/errors.ts'
import type { Item } from '../../core/item.ts'
import { stringOf, isRecord, parsedJson } from '../../core/values.ts'
import { cutOut, type JsonNode, member } from '../json/json-index.ts'
import type { Splice } from '../json/splice.ts'

/** The error for an edit of an item that its issuer would then refuse. */
export function sealedError(item: Item): PlimsollError {
  return new PlimsollError('bad-input', `${item.id} is sealed: it can be dropped, not rewritten.`)
}

const SEAL = 40

/** The size and a short identifier of a ciphertext, which is too long to store with the item. */
export function sealedBy(ciphertext: string | undefined): Pick<Item, 'sealedCharacters' | 'seal'> {
  if (ciphertext === undefined || ciphertext === '') return {}
  const { length } = ciphertext
  return { sealedCharacters: length, seal: cutOut(ciphertext, Math.max(0, length - SEAL), length) }
}

/** On every wire, a call's arguments must be an object; other text is put into one. */
export const objectJson = (text: string): string => (isRecord(parsedJson(text)) ? text : JSON.stringify({ note: text }))

/**
 * The origin of items that the body does not contain and that are inserted in their own wire's form. They were read from separate messages, and are
 * written from those: in full, or without what was dropped and edited since.
 */
interface RestoredOrigin {
  readonly messages: Conversation
  readonly item: Item
}

const FORMAT = 'restored'

const placeOf = ({ origin }: Item): RestoredOrigin | undefined =>
  origin?.format === FORMAT ? (origin.value as RestoredOrigin) : undefined

const isRestored = (item: Item): boolean => item.origin?.format === FORMAT

const isBeside = (a: Item, b: Item): boolean => placeOf(a)?.messages === placeOf(b)?.messages

/** Reads messages of a wire as items for another body; `list` is the member that contains its history. */
export function readMessages(
  codec: Pick<Codec, 'decode'>,
  list: string,
  messages: readonly unknown[],
  id: string,
): readonly Item[] {
  const read = codec.decode(JSON.stringify({ [list]: messages }))
  return read.items.map((item, i) => ({
    ...item,
    id: `${id}.${i}`,
    // Below the numbers of items that we insert, one for each message.
    message: -2 - item.message,
    origin: { format: FORMAT, value: { messages: read, item } },
  }))
}

/** The history elements for these neighbouring items. */
export function writeRestored(
  encode: (conversation: Conversation) => { readonly text: string },
  items: readonly Item[],
): string {
  const { messages } = placeOf(items[0]!)!
  const own = items.map((item) => {
    const original = placeOf(item)!.item
    if (item.edited !== true) return original
    const { media: _, ...rest } = original
    return { ...rest, text: item.text, edited: true as const }
  })
  const isWhole = own.length === messages.items.length && own.every((item, i) => item === messages.items[i])
  const { text } = encode(isWhole ? messages : { ...messages, items: own })
  return text.slice(text.indexOf('[') + 1, text.lastIndexOf(']'))
}

/** The wire text that a restored item was read from; empty for other items. */
export function restoredFragment(item: Item, fragmentOf: (conversation: Conversation, item: Item) => string): string {
  const place = placeOf(item)
  return place === undefined ? '' : fragmentOf(place.messages, place.item)
}

/** One message of the outgoing history: remaining items of a client's message, a message that we insert, or restored messages. */
export type OutgoingMessage =
  | { readonly own: number; readonly kept: readonly Item[] }
  | { readonly own: undefined; readonly inserted: Item }
  | { readonly own: undefined; readonly restored: readonly Item[] }

/** Groups items by wire message. An inserted item becomes a message of its own before the item that follows. */
export function groupByMessage(items: readonly Item[], isOwn: (item: Item) => boolean): OutgoingMessage[] {
  const lastOf = new Map<number, number>()
  for (let i = 0; i < items.length; i++) if (isOwn(items[i]!)) lastOf.set(items[i]!.message, i)
  const out: OutgoingMessage[] = []
  let current: { own: number; kept: Item[] } | undefined
  let beside: Item[] | undefined
  for (let i = 0; i < items.length; i++) {
    const item = items[i]!
    if (isRestored(item)) {
      if (beside !== undefined && isBeside(beside[0]!, item)) beside.push(item)
      else out.push({ own: undefined, restored: (beside = [item]) })
    } else if (!isOwn(item)) {
      // A message cannot be inserted within another, so it goes before that one.
      const inside = current !== undefined && lastOf.get(current.own)! > i
      out.splice(inside ? -1 : out.length, 0, { own: undefined, inserted: item })
    } else if (current?.own === item.message) current.kept.push(item)
    else out.push((current = { own: item.message, kept: [item] }))
  }
  return out
}

/** How a wire writes several messages of one role as one. */
export interface Merging {
  /** Undefined if these messages cannot be joined. */
  merge(role: string, messages: readonly JsonNode[]): string | undefined
  /** The wire's name for the model's role. @default 'assistant' */
  readonly assistant?: string
}

const roleOf = (message: JsonNode): string => stringOf(member(message, 'role')?.value) ?? 'user'

/** Groups neighbouring messages of one role. */
function runsIn(messages: readonly JsonNode[]): JsonNode[][] {
  const runs: JsonNode[][] = []
  for (const message of messages) {
    const run = runs.at(-1)
    if (run !== undefined && roleOf(run[0]!) === roleOf(message)) run.push(message)
    else runs.push([message])
  }
  return runs
}

/**
 * Joins neighbouring messages of one role if the client's own history has none, because local chat templates and some gateways refuse them:
 * messages that we inserted, and messages that became neighbours when we removed those between.
 */
export function mergeNeighbours(
  { merge, assistant = 'assistant' }: Merging,
  before: readonly JsonNode[],
  now: readonly JsonNode[],
): Splice[] {
  const alternating = new Set(['user', assistant])
  if (runsIn(before).some((run) => run.length > 1 && alternating.has(roleOf(run[0]!)))) return []
  return runsIn(now).flatMap((run) => {
    const text = run.length > 1 ? merge(roleOf(run[0]!), run) : undefined
    return text === undefined ? [] : [{ start: run[0]!.start, end: run.at(-1)!.end, text }]
  })
}

/**
 * Joins contents that are strings or lists into one list: each text becomes a part, each part stays unchanged. Empty content is left out, because
 * providers refuse an empty part.
 */
export function joinContents(contents: readonly (string | undefined)[]): string {
  const parts = contents.map((content = 'null') => {
    if (content === '""') return ''
    if (content.startsWith('"')) return `{"type":"text","text":${content}}`
    if (content.startsWith('[')) return content.slice(1, -1).trim()
    return content === 'null' ? '' : content
  })
  const said = parts.filter((part) => part !== '')
  return said.length === 0 ? '""' : `[${said.join(',')}]`
}

/** Whether messages have no other members than these. */
export const haveOnly = (messages: readonly JsonNode[], keys: readonly string[]): boolean =>
  messages.every(({ members = [] }) => members.every(({ key }) => keys.includes(key)))

/** A client's cache breakpoint on a block: the member that contains it, and its JSON text. */
export interface CacheMark {
  readonly key: string
  readonly json: string
}

export const markJson = (mark: CacheMark | undefined): string =>
  mark === undefined ? '' : `,${JSON.stringify(mark.key)}:${mark.json}`

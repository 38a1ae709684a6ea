import type { Codec } from '../../core/codec.ts'
import type { Conversation } from '../../core/conversation.ts'
import { PlimsollError } from '../../core/errors.ts'
import type { Item } from '../../core/item.ts'
import { recordOf, stringOf } from '../../core/values.ts'
import { cutOut, indexJson, type JsonNode, member } from '../json/json-index.ts'
import { type ArrayPart, type Splice, spliceText } from '../json/splice.ts'

/** For items that only their issuer can check: an edit would turn them into something that it refuses. */
export function sealedError(item: Item): PlimsollError {
  return new PlimsollError('bad-input', `${item.id} is sealed: it can be dropped, not rewritten.`)
}

const SEAL = 40

/** What can be told of a ciphertext without carrying it around. */
export function sealedBy(ciphertext: string | undefined): Pick<Item, 'sealedCharacters' | 'seal'> {
  if (ciphertext === undefined || ciphertext === '') return {}
  const { length } = ciphertext
  return { sealedCharacters: length, seal: cutOut(ciphertext, Math.max(0, length - SEAL), length) }
}

/** A call's arguments must be an object on every wire; other text is carried inside one. */
export function objectJson(text: string): string {
  try {
    if (recordOf(JSON.parse(text)) !== undefined) return text
  } catch {
    // Not JSON: wrapped below.
  }
  return JSON.stringify({ note: text })
}

/**
 * Items that a body does not have and that are written into it again as their own wire wrote them. They were read from messages of their
 * own, which is where they are written from: whole, or without what was dropped and edited since.
 */
interface RestoredOrigin {
  readonly messages: Conversation
  readonly item: Item
}

const FORMAT = 'restored'

const placeOf = ({ origin }: Item): RestoredOrigin | undefined =>
  origin?.format === FORMAT ? (origin.value as RestoredOrigin) : undefined

const isRestored = (item: Item): boolean => item.origin?.format === FORMAT

/** Whether two items stand in the same messages. */
const isBeside = (a: Item, b: Item): boolean => placeOf(a)?.messages === placeOf(b)?.messages

/** Reads messages of a wire as items for another body; `list` is the member that holds its history. */
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
    // Below those of items that we insert: each message keeps a number of its own.
    message: -2 - item.message,
    origin: { format: FORMAT, value: { messages: read, item } },
  }))
}

/** The elements of the history that these items, which stand beside each other, are written as. */
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

/** The wire text that a restored item was read from; empty for any other. */
export function restoredFragment(item: Item, fragmentOf: (conversation: Conversation, item: Item) => string): string {
  const place = placeOf(item)
  return place === undefined ? '' : fragmentOf(place.messages, place.item)
}

/** One message of the outgoing history: its own items that stay, a message that we insert, or messages that are put back. */
export type OutgoingMessage =
  | { readonly own: number; readonly kept: readonly Item[] }
  | { readonly own: undefined; readonly inserted: Item }
  | { readonly own: undefined; readonly restored: readonly Item[] }

/** Items of one wire message stay together; what we insert becomes a message of its own in front of it. */
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
      // Between two blocks of one message there is no room for a message: it goes in front.
      const inside = current !== undefined && lastOf.get(current.own)! > i
      out.splice(inside ? -1 : out.length, 0, { own: undefined, inserted: item })
    } else if (current?.own === item.message) current.kept.push(item)
    else out.push((current = { own: item.message, kept: [item] }))
  }
  return out
}

/** An outgoing history, message by message, with the changes inside its own messages. */
export interface WrittenHistory {
  readonly messages: readonly OutgoingMessage[]
  /** One for each message: its index, or the text of an inserted one. */
  readonly parts: readonly ArrayPart[]
  readonly splices: readonly Splice[]
}

export interface MessageList {
  readonly text: string
  /** Messages of the original list. */
  readonly count: number
  /** The message of the original list with this number. */
  readonly nodeOf: (own: number) => JsonNode
  /** The text of one message for several of one role; undefined where the wire has no room for that. */
  readonly merge: (role: string, messages: readonly RawMessage[]) => string | undefined
  /** The wire's name for the model's role. @default 'assistant' */
  readonly assistant?: string
}

/**
 * Local chat templates and some gateways refuse two messages of one role side by side. Where the client's own history has none, what we
 * inserted, and what met because we took out what stood between, is written as one message.
 */
export function mergeNeighbours(history: WrittenHistory, list: MessageList): Omit<WrittenHistory, 'messages'> {
  const { messages, parts } = history
  if (isAsItWas(messages) || !alternates(list)) return history
  const out: ArrayPart[] = []
  let splices = history.splices
  for (let from = 0; from < messages.length;) {
    const role = roleOf(messages[from]!, list)
    let to = from + 1
    while (
      to < messages.length &&
      !stoodTogether(messages[to - 1]!, messages[to]!) &&
      roleOf(messages[to]!, list) === role
    )
      to++
    const merged = to - from < 2 ? undefined : mergedOf(history, list, role, from, to)
    if (merged === undefined) out.push(...parts.slice(from, to))
    else {
      out.push(merged)
      const gone = messages.slice(from, to).flatMap(({ own }) => (own === undefined ? [] : [list.nodeOf(own)]))
      splices = splices.filter((splice) => !gone.some((node) => isInside(splice, node)))
    }
    from = to
  }
  return { parts: out, splices }
}

const isAsItWas = (messages: readonly OutgoingMessage[]): boolean =>
  messages.every((message, i) => i === 0 || stoodTogether(messages[i - 1]!, message))

function alternates({ count, nodeOf, assistant = 'assistant' }: MessageList): boolean {
  let before: string | undefined
  for (let own = 0; own < count; own++) {
    const role = wireRole(nodeOf(own))
    if (role === before && (role === 'user' || role === assistant)) return false
    before = role
  }
  return true
}

const wireRole = (node: JsonNode): string => stringOf(member(node, 'role')?.value) ?? 'user'

/** Messages that are put back are the wire's own, and stay as they are. */
const stoodTogether = (one: OutgoingMessage, next: OutgoingMessage): boolean =>
  'restored' in one || 'restored' in next || (one.own !== undefined && next.own === one.own + 1)

function roleOf(message: OutgoingMessage, { nodeOf, assistant = 'assistant' }: MessageList): string {
  if (message.own !== undefined) return wireRole(nodeOf(message.own))
  if ('restored' in message) return ''
  return message.inserted.role === 'assistant' ? assistant : 'user'
}

function mergedOf(
  { messages, parts, splices }: WrittenHistory,
  { text, nodeOf, merge }: MessageList,
  role: string,
  from: number,
  to: number,
): string | undefined {
  const texts = messages.slice(from, to).map(({ own }, i) => {
    if (own === undefined) return String(parts[from + i])
    const node = nodeOf(own)
    const inside = splices
      .filter((splice) => isInside(splice, node))
      .map((splice) => ({ ...splice, start: splice.start - node.start, end: splice.end - node.start }))
    return spliceText(text.slice(node.start, node.end), inside)
  })
  return merge(role, texts.map(rawMessage))
}

/** A message by its members, as they are written: members that we do not know keep their bytes. */
export interface RawMessage {
  readonly keys: readonly string[]
  raw(key: string): string | undefined
}

function rawMessage(text: string): RawMessage {
  const root = indexJson(text)
  return { keys: (root.members ?? []).map(({ key }) => key), raw: (key) => member(root, key)?.raw }
}

const isInside = ({ start, end }: Splice, node: JsonNode): boolean => start >= node.start && end <= node.end

/**
 * Contents that are strings or lists as one list: each text becomes a part of its own, each part stays as it is written. An empty content
 * adds nothing: providers refuse an empty part.
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

/** Whether messages have nothing beside these members. */
export const haveOnly = (messages: readonly RawMessage[], keys: readonly string[]): boolean =>
  messages.every((message) => message.keys.every((key) => keys.includes(key)))

/** A client's cache breakpoint on a block: the member that holds it, and its JSON text. */
export interface CacheMark {
  readonly key: string
  readonly json: string
}

export const markJson = (mark: CacheMark | undefined): string =>
  mark === undefined ? '' : `,${JSON.stringify(mark.key)}:${mark.json}`

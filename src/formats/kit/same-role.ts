import { indexJson, member, rawText, type JsonNode } from '../json/json-index.ts'
import { spliceText, type ArrayPart, type Splice } from '../json/splice.ts'
import type { OutgoingMessage } from './outgoing.ts'
import { stringOf } from '../../core/values.ts'

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

/** A message by its members, as they are written: what nobody here knows keeps its bytes. */
export interface RawMessage {
  readonly keys: readonly string[]
  raw(key: string): string | undefined
}

function rawMessage(text: string): RawMessage {
  const root = indexJson(text)
  return {
    keys: (root.members ?? []).map(({ key }) => key),
    raw(key) {
      const node = member(root, key)
      return node === undefined ? undefined : rawText(text, node)
    },
  }
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

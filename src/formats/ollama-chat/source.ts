import type { Conversation } from '../../core/conversation.ts'
import type { Item } from '../../core/item.ts'
import { member, type JsonNode } from '../json/json-index.ts'
import { messageList } from '../kit/message-list.ts'
import { restoredFragment } from '../kit/restored.ts'

export const FORMAT = 'ollama-chat'

/** The codec's private index of a decoded body. */
export interface Source {
  readonly text: string
  readonly bytes: number
  readonly root: JsonNode
  /** Leading system messages; they are the head and always stay. */
  readonly headCount: number
  /** The history as it was read; the same list coming back means that nothing changed. */
  readonly items: readonly Item[]
  /** What each message held when it was read, so that the encoder knows what was dropped. */
  readonly itemsOf: readonly (readonly Item[])[]
}

/** Where an item stands in its message: a member of it, an entry of its pictures or calls, or all of it. */
export interface Place {
  readonly message: number
  readonly part: 'message' | 'content' | 'thinking' | 'images' | 'tool_calls'
  readonly index: number
}

export const sourceOf = (conversation: Conversation): Source => conversation.source.value as Source
export const placeOf = (item: Item): Place | undefined =>
  item.origin?.format === FORMAT ? (item.origin.value as Place) : undefined

export const messageAt = (root: JsonNode, index: number): JsonNode | undefined => member(root, 'messages')?.at(index)

/** The fragment that a place names. */
export function nodeAt(root: JsonNode, { message, part, index }: Place): JsonNode {
  const node = messageAt(root, message)!
  if (part === 'message') return node
  const value = member(node, part)!
  return part === 'images' || part === 'tool_calls' ? value.at(index)! : value
}

export const { fieldsOf, parsedMessages, endOfMessage, listIn, withMessages } = messageList('messages')

/** The wire text that an item was read from. */
export function fragmentOf(conversation: Conversation, item: Item): string {
  const place = placeOf(item)
  if (place === undefined) return restoredFragment(item, fragmentOf)
  const { root, text } = sourceOf(conversation)
  const node = nodeAt(root, place)
  return text.slice(node.start, node.end)
}

export function quotedOf(conversation: Conversation, item: Item): string | undefined {
  const place = placeOf(item)
  return place === undefined ? undefined : nodeAt(sourceOf(conversation).root, place).quotedAt([], item.text)
}

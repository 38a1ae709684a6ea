import type { Conversation } from '../../core/conversation.ts'
import type { Item } from '../../core/item.ts'
import type { MarkPlaces } from '../kit/cache-marks.ts'
import { member, type JsonNode } from '../json/json-index.ts'
import { messageList } from '../kit/message-list.ts'
import { restoredFragment } from '../kit/restored.ts'

export const FORMAT = 'anthropic-messages'

/** Members that hold a client's cache mark. */
export const MARK_KEYS = ['cache_control']

/** The codec's private index of a decoded body. */
export interface Source {
  readonly text: string
  readonly bytes: number
  /** Where keys of cache marks stand in the text. */
  readonly marks: MarkPlaces
  readonly root: JsonNode
  /** The items as they were read; the same list coming back means that nothing changed. */
  readonly items: readonly Item[]
  /** The same by message. */
  readonly itemsOf: readonly (readonly Item[])[]
}

/** Where an item stands: a block of a message, or the content that is a message's only item. */
export interface Place {
  readonly message: number
  /** True when the content is a plain string, or an empty list, and there is no block. */
  readonly bare: boolean
  readonly block: number
}

export const sourceOf = (conversation: Conversation): Source => conversation.source.value as Source
export const placeOf = (item: Item): Place | undefined =>
  item.origin?.format === FORMAT ? (item.origin.value as Place) : undefined

export const messagesOf = (root: JsonNode): readonly JsonNode[] => member(root, 'messages')?.items ?? []

export const messageAt = (root: JsonNode, index: number): JsonNode | undefined => member(root, 'messages')?.at(index)

/** The fragment that a place names. */
export function nodeAt(root: JsonNode, { message, bare, block }: Place): JsonNode {
  const content = member(messageAt(root, message), 'content')!
  return bare ? content : content.at(block)!
}

/** Blocks of a provider-run tool come as `x_tool_use` and `x_tool_result`; the family grows, so the rule is structural. */
export const isServerCall = (type: string): boolean => type !== 'tool_use' && type.endsWith('tool_use')
export const isServerResult = (type: string): boolean => type !== 'tool_result' && type.endsWith('tool_result')

export const { fieldsOf, parsedMessages, endOfMessage, listIn, withMessages } = messageList('messages')

/** The wire text that an item was read from. */
export function fragmentOf(conversation: Conversation, item: Item): string {
  const place = placeOf(item)
  return place === undefined ? restoredFragment(item, fragmentOf) : sourceOf(conversation).root.sliceAt(pathOf(place))!
}

export function quotedOf(conversation: Conversation, item: Item): string | undefined {
  const place = placeOf(item)
  return place === undefined ? undefined : sourceOf(conversation).root.quotedAt(pathOf(place), item.text)
}

const pathOf = ({ message, bare, block }: Place): (string | number)[] =>
  bare ? ['messages', message, 'content'] : ['messages', message, 'content', block]

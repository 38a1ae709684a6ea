import type { Conversation } from '../../core/conversation.ts'
import type { Item } from '../../core/item.ts'
import type { MarkPlaces } from '../kit/cache-marks.ts'
import { member, type JsonNode } from '../json/json-index.ts'
import { messageList } from '../kit/message-list.ts'
import type { Fields } from '../../core/values.ts'
import { restoredFragment } from '../kit/restored.ts'

export const FORMAT = 'openai-responses'

/** Members that hold a client's cache mark. */
export const MARK_KEYS = ['prompt_cache_breakpoint']

/** The codec's private index of a decoded body. */
export interface Source {
  readonly text: string
  readonly bytes: number
  /** Where keys of cache marks stand in the text. */
  readonly marks: MarkPlaces
  readonly root: JsonNode
  /** Leading system and developer messages; they are the head and always stay. */
  readonly headCount: number
  /** The history as it was read; the same list coming back means that nothing changed. */
  readonly items: readonly Item[]
  /** What each element gave when it was read, so that the encoder knows whether some were dropped. */
  readonly itemsOf: readonly (readonly Item[])[]
}

/**
 * Where an item stands: a whole element of `input`, a part of a message's content, the string that is a message's whole
 * content, or the string that is the whole input.
 */
export interface Place {
  readonly shape: 'item' | 'part' | 'content' | 'input'
  /** Index of the element in `input`. */
  readonly message: number
  /** Index of a part in its message. */
  readonly index: number
}

export const sourceOf = (conversation: Conversation): Source => conversation.source.value as Source
export const placeOf = (item: Item): Place | undefined =>
  item.origin?.format === FORMAT ? (item.origin.value as Place) : undefined

/** The fragment that a place names. */
export function nodeAt(root: JsonNode, { shape, message, index }: Place): JsonNode {
  if (shape === 'input') return member(root, 'input')!
  const element = member(root, 'input')!.at(message)!
  if (shape === 'item') return element
  const content = member(element, 'content')!
  return shape === 'content' ? content : content.at(index)!
}

/** An element's type. Messages may leave theirs out, and so may references. */
export function typeOf(fields: Fields): string {
  if (typeof fields['type'] === 'string') return fields['type']
  if (typeof fields['role'] === 'string') return 'message'
  return typeof fields['id'] === 'string' ? 'item_reference' : ''
}

export const { fieldsOf, parsedMessages, endOfMessage, listIn, withMessages } = messageList('input')

/** The wire text that an item was read from. */
export function fragmentOf(conversation: Conversation, item: Item): string {
  const place = placeOf(item)
  return place === undefined ? restoredFragment(item, fragmentOf) : sourceOf(conversation).root.sliceAt(pathOf(place))!
}

export function quotedOf(conversation: Conversation, item: Item): string | undefined {
  const place = placeOf(item)
  return place === undefined ? undefined : sourceOf(conversation).root.quotedAt(pathOf(place), item.text)
}

function pathOf({ shape, message, index }: Place): (string | number)[] {
  if (shape === 'input') return ['input']
  if (shape === 'item') return ['input', message]
  return ['input', message, 'content', ...(shape === 'content' ? [] : [index])]
}

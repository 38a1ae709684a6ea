import type { Conversation } from '../../core/conversation.ts'
import type { Item } from '../../core/item.ts'
import type { MarkPlaces } from '../kit/cache-marks.ts'
import { member, type JsonNode } from '../json/json-index.ts'
import { messageList } from '../kit/message-list.ts'
import { restoredFragment } from '../kit/restored.ts'

export const FORMAT = 'openai-chat'

/** Members that hold a client's cache mark. */
export const MARK_KEYS = ['cache_control', 'prompt_cache_breakpoint']

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
  /** What each message held when it was read, so that the encoder knows what was dropped. */
  readonly itemsOf: readonly (readonly Item[])[]
}

/**
 * Where an item stands in its message. One assistant message keeps its text, calls and reasoning in different members, and
 * vendors keep the same reasoning in several at once.
 */
export interface Place {
  readonly message: number
  readonly shape: 'message' | 'fields' | 'part' | 'call'
  /** Members that hold it, for `fields`. */
  readonly keys: readonly string[]
  /** Which part of the content or which call it is. */
  readonly index: number
}

export const sourceOf = (conversation: Conversation): Source => conversation.source.value as Source
export const placeOf = (item: Item): Place | undefined =>
  item.origin?.format === FORMAT ? (item.origin.value as Place) : undefined

export const messageAt = (root: JsonNode, index: number): JsonNode | undefined => member(root, 'messages')?.at(index)

/** The fragment that a place names; for reasoning that several members share, the message. */
export function nodeAt(root: JsonNode, { message, shape, keys, index }: Place): JsonNode {
  const node = messageAt(root, message)!
  if (shape === 'message' || keys.length > 1) return node
  if (shape === 'fields') return member(node, keys[0]!)!
  return member(node, shape === 'part' ? 'content' : 'tool_calls')!.at(index)!
}

/** Members in which OpenAI-compatible vendors keep reasoning: DeepSeek, vLLM, OpenRouter, LiteLLM. */
export const REASONING_KEYS = ['reasoning_content', 'reasoning', 'reasoning_details', 'thinking_blocks'] as const

export const isInstructionRole = (role: unknown): boolean => role === 'system' || role === 'developer'

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

function pathOf({ message, shape, keys, index }: Place): (string | number)[] {
  const path = ['messages', message]
  if (shape === 'message' || keys.length > 1) return path
  if (shape === 'fields') return [...path, keys[0]!]
  return [...path, shape === 'part' ? 'content' : 'tool_calls', index]
}

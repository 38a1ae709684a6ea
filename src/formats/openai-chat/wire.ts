import type { Conversation } from '../../core/conversation.ts'
import type { Item } from '../../core/item.ts'
import type { JsonNode } from '../json-index.ts'

export const FORMAT = 'openai-chat'

/** Levels of the body that have spans: root, messages, message, parts and calls, their fields, a call's function. */
export const INDEX_DEPTH = 6

/** The codec's private index of a decoded body. */
export interface Source {
  readonly text: string
  readonly root: JsonNode
  readonly messages: readonly JsonNode[]
  /** Leading system and developer messages; they are the head and always stay. */
  readonly headCount: number
  /** What each message held when it was read, so that the encoder knows what was dropped. */
  readonly items: readonly (readonly Item[])[]
}

/**
 * Where an item stands. One assistant message keeps its text, calls and reasoning in different members, and vendors keep the
 * same reasoning in several at once.
 */
export type Place =
  | { readonly shape: 'message'; readonly node: JsonNode }
  | { readonly shape: 'fields'; readonly node: JsonNode; readonly keys: readonly string[] }
  | { readonly shape: 'part' | 'call'; readonly node: JsonNode; readonly index: number }

export const sourceOf = (conversation: Conversation): Source => conversation.source.value as Source
export const placeOf = (item: Item): Place | undefined =>
  item.origin?.format === FORMAT ? (item.origin.value as Place) : undefined

/** Members in which OpenAI-compatible vendors keep reasoning: DeepSeek, vLLM, OpenRouter, LiteLLM. */
export const REASONING_KEYS = ['reasoning_content', 'reasoning', 'reasoning_details', 'thinking_blocks'] as const

export const isInstructionRole = (role: unknown): boolean => role === 'system' || role === 'developer'

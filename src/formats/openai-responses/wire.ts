import type { Conversation } from '../../core/conversation.ts'
import type { Item } from '../../core/item.ts'
import type { JsonNode } from '../json-index.ts'

export const FORMAT = 'openai-responses'

/** Levels of the body that have spans: root, input, item, content or action, part, part field. */
export const INDEX_DEPTH = 5

/** The codec's private index of a decoded body. */
export interface Source {
  readonly text: string
  readonly root: JsonNode
  /** The elements of `input`; empty when it is a string or absent. */
  readonly input: readonly JsonNode[]
  /** Leading system and developer messages; they are the head and always stay. */
  readonly headCount: number
  /** How many items each element gave, so that the encoder knows whether some were dropped. */
  readonly counts: readonly number[]
}

/**
 * Where an item stands: a whole element of `input`, a part of a message's content, the string that is a message's whole
 * content, or the string that is the whole input.
 */
export interface Place {
  readonly shape: 'item' | 'part' | 'content' | 'input'
  readonly node: JsonNode
  /** Index of a part in its message. */
  readonly index: number
}

export const sourceOf = (conversation: Conversation): Source => conversation.source.value as Source
export const placeOf = (item: Item): Place | undefined =>
  item.origin?.format === FORMAT ? (item.origin.value as Place) : undefined

/** An element's type. Messages may leave theirs out, and so may references. */
export function typeOf(fields: Readonly<Record<string, unknown>>): string {
  if (typeof fields['type'] === 'string') return fields['type']
  if (typeof fields['role'] === 'string') return 'message'
  return typeof fields['id'] === 'string' ? 'item_reference' : ''
}

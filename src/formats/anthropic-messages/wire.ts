import type { Conversation } from '../../core/conversation.ts'
import type { Item } from '../../core/item.ts'
import type { JsonNode } from '../json-index.ts'

export const FORMAT = 'anthropic-messages'

/** Levels of the body that have spans: root, messages, message, content, block, field, nested block, nested field. */
export const INDEX_DEPTH = 8

/** The codec's private index of a decoded body. */
export interface Source {
  readonly text: string
  readonly root: JsonNode
  readonly messages: readonly JsonNode[]
}

/** Where an item stands: a block of a message (or of `system`), or the string that is a message's whole content. */
export interface Place {
  readonly node: JsonNode
  /** True when the content is a plain string and there is no block. */
  readonly bare: boolean
  readonly block: number
}

export const sourceOf = (conversation: Conversation): Source => conversation.source.value as Source
export const placeOf = (item: Item): Place | undefined =>
  item.origin?.format === FORMAT ? (item.origin.value as Place) : undefined

/** Blocks of a provider-run tool come as `x_tool_use` and `x_tool_result`; the family grows, so the rule is structural. */
export const isServerCall = (type: string): boolean => type !== 'tool_use' && type.endsWith('tool_use')
export const isServerResult = (type: string): boolean => type !== 'tool_result' && type.endsWith('tool_result')

import type { Conversation } from '../../core/conversation.ts'
import type { Item } from '../../core/item.ts'
import { member, memberEntry, type JsonMember, rawText, type JsonNode } from '../json/json-index.ts'
import { type Fields, recordOf } from '../../core/values.ts'
import { restoredFragment } from '../kit/restored.ts'

export const FORMAT = 'gemini'

/** The codec's private index of a decoded body. */
export interface Source {
  readonly text: string
  readonly bytes: number
  readonly body: JsonNode
  /** The history as it was read; the same list coming back means that nothing changed. */
  readonly items: readonly Item[]
  /** What each content gave when it was read, so that the encoder knows whether some were dropped. */
  readonly itemsOf: readonly (readonly Item[])[]
}

/** Where an item stands: a part of a content, or a content that has no parts. */
export interface Place {
  readonly shape: 'part' | 'content'
  /** Index of the content. */
  readonly message: number
  readonly index: number
}

export const sourceOf = (conversation: Conversation): Source => conversation.source.value as Source
export const placeOf = (item: Item): Place | undefined =>
  item.origin?.format === FORMAT ? (item.origin.value as Place) : undefined

const snakeCases = new Map<string, string>()

/** Only for keys that this codec names, so the memory of it stays small. */
export function snakeCase(key: string): string {
  const known = snakeCases.get(key)
  if (known !== undefined) return known
  const snake = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  snakeCases.set(key, snake)
  return snake
}

/** Google's servers read `systemInstruction` and `system_instruction` alike; keys are named here in camel case. */
export function field(node: JsonNode | undefined, key: string): JsonNode | undefined {
  return fieldEntry(node, key)?.node
}

export function fieldEntry(node: JsonNode | undefined, key: string): JsonMember | undefined {
  return memberEntry(node, key) ?? memberEntry(node, snakeCase(key))
}

export function valueAt(fields: Fields | undefined, key: string): unknown {
  return fields?.[key] ?? fields?.[snakeCase(key)]
}

/** The request inside a body: the body itself, or the member `request` of one that Code Assist wrapped. */
export function requestIn(body: Fields): Fields {
  return body['contents'] === undefined ? (recordOf(body['request']) ?? body) : body
}

export function rootOf(body: JsonNode): JsonNode {
  const isWrapped = requestIn(body.value as Fields) !== body.value
  return isWrapped ? member(body, 'request')! : body
}

/** The members of a list. Google's servers also take a single object where a list is meant. */
export function elementsOf(node: JsonNode | undefined): readonly JsonNode[] {
  if (node?.type === 'array') return node.items ?? []
  return node?.type === 'object' ? [node] : []
}

/** The same for a parsed value. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : recordOf(value) === undefined ? [] : [value]
}

/** One member of such a list, without nodes for the others. */
export function elementAt(node: JsonNode | undefined, index: number): JsonNode | undefined {
  if (node?.type === 'array') return node.at(index)
  return node?.type === 'object' && index === 0 ? node : undefined
}

export const contentAt = (body: JsonNode, index: number): JsonNode | undefined =>
  elementAt(member(rootOf(body), 'contents'), index)

/** The fragment that a place names. */
export function nodeAt(body: JsonNode, { shape, message, index }: Place): JsonNode {
  const content = contentAt(body, message)!
  return shape === 'content' ? content : elementAt(field(content, 'parts'), index)!
}

const TELLING_KEYS = ['system_instruction', 'generation_config', 'tool_config', 'safety_settings', 'cached_content']

/** A key that we add, in the case that the body uses. */
export function newKey(root: JsonNode, key: string): string {
  return TELLING_KEYS.some((telling) => member(root, telling) !== undefined) ? snakeCase(key) : key
}

/** The request's members as parsed. */
export const fieldsOf = (conversation: Conversation): Fields => sourceOf(conversation).body.value as Fields

export function withMessages(fields: Fields, messages: readonly unknown[]): Fields {
  const request = requestIn(fields)
  const changed = { ...request, contents: messages }
  return request === fields ? changed : { ...fields, request: changed }
}

export const parsedMessages = (conversation: Conversation): readonly unknown[] =>
  listOf(requestIn(fieldsOf(conversation))['contents'])

export const endOfMessage = (conversation: Conversation, message: number): number =>
  contentAt(sourceOf(conversation).body, message)!.end

export const listIn = (conversation: Conversation): JsonNode | undefined =>
  member(rootOf(sourceOf(conversation).body), 'contents')

/** The wire text that an item was read from. */
export function fragmentOf(conversation: Conversation, item: Item): string {
  const place = placeOf(item)
  if (place === undefined) return restoredFragment(item, fragmentOf)
  const source = sourceOf(conversation)
  return rawText(source.text, nodeAt(source.body, place))
}

export function quotedOf(conversation: Conversation, item: Item): string | undefined {
  const place = placeOf(item)
  return place === undefined ? undefined : nodeAt(sourceOf(conversation).body, place).quotedAt([], item.text)
}

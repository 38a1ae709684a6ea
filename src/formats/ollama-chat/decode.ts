import type { Conversation, RequestSettings } from '../../core/conversation.ts'
import type { Item, ItemCore, Role, ToolDeclaration } from '../../core/item.ts'
import { type Fields, numberOf, recordOf, stringOf, textOf } from '../../core/values.ts'
import { bytesOf, indexGrown, isWrittenAlike, type JsonNode, member, rawText } from '../json/json-index.ts'
import { restoredFragment } from '../kit/editing.ts'
import {
  badInput,
  defined,
  headOf,
  isHeadKept,
  itemsBehindHead,
  messageList,
  objectsIn,
  placedItem,
  type ToolNames,
  toolNamesIn,
} from '../kit/reading.ts'

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

export function decode(text: string, before?: Conversation): Conversation {
  const known = before?.format === FORMAT ? sourceOf(before) : undefined
  const { root, kept, from } = indexGrown(text, known, ['messages'])
  const body = recordOf(root.value)
  if (body === undefined) throw badInput(FORMAT, 'the body', 'an object')
  const list = body['messages']
  if (!Array.isArray(list)) throw badInput(FORMAT, 'messages', 'an array')
  const messages = objectsIn(list, FORMAT, 'messages', kept)
  const firstOther = messages.findIndex(({ role }) => role !== 'system')
  const headCount = firstOther < 0 ? messages.length : firstOther
  const itemsOf = known?.itemsOf.slice(0, kept) ?? []
  const reader: Reader = { text, root, toolNames: toolNamesIn(itemsOf) }
  for (let index = kept; index < messages.length; index++) itemsOf.push(readMessage(reader, messages[index]!, index))
  const items = itemsBehindHead(itemsOf, headCount, known, kept)
  const bytes = bytesOf(text, known, from)
  const source: Source = { text, bytes, root, headCount, items, itemsOf }
  return {
    format: FORMAT,
    head: isHeadKept(headCount, known, kept) ? before!.head : headOf(itemsOf, headCount),
    items,
    tools: kept > 0 && isWrittenAlike(source, known!, ['tools']) ? before!.tools : readTools(text, root, body),
    settings: readSettings(body),
    bytes,
    source: { format: FORMAT, value: source },
  }
}

/** What reading a message needs beside the message. */
interface Reader {
  readonly text: string
  readonly root: JsonNode
  readonly toolNames: ToolNames
}

interface Found {
  readonly core: ItemCore
  readonly part: Place['part']
  readonly index: number
}

const KINDS = { system: 'instruction', user: 'user', assistant: 'assistant' } as const

function readMessage(reader: Reader, message: Fields, index: number): Item[] {
  const { role } = message
  if (typeof role !== 'string') throw badInput(FORMAT, `messages[${index}].role`, 'a string')
  const item = (at: number, ours: Role, { core, part, index: place }: Found): Item => {
    const origin: Place = { message: index, part, index: place }
    return placedItem(FORMAT, origin, at, ours, core)
  }
  if (role === 'tool') return [item(0, 'tool', { core: resultOf(message, reader), part: 'message', index: 0 })]
  if (role !== 'system' && role !== 'user' && role !== 'assistant') {
    const core: ItemCore = { kind: 'opaque', text: rawAt(reader, index, 'message'), sealed: true }
    return [item(0, 'user', { core, part: 'message', index: 0 })]
  }
  const found = partsOf(message, KINDS[role], (at) => rawArguments(reader, index, at))
  for (const { core } of found) {
    if (core.callId !== undefined && core.toolName !== undefined) reader.toolNames.set(core.callId, core.toolName)
  }
  // A message that says nothing is still there: one item stands for it, so that it can be dropped.
  if (found.length === 0) return [item(0, role, { core: { kind: KINDS[role], text: '' }, part: 'message', index: 0 })]
  return found.map((one, at) => item(at, role, one))
}

/** What a message holds, in the order in which a model reads it. */
export function partsOf(
  message: Fields,
  kind: 'instruction' | 'user' | 'assistant',
  rawArgumentsOf: (call: number) => string,
): Found[] {
  const thinking = textOf(message['thinking'])
  const content = textOf(message['content'])
  const images = Array.isArray(message['images']) ? (message['images'] as readonly unknown[]) : []
  const calls = Array.isArray(message['tool_calls']) ? (message['tool_calls'] as readonly unknown[]) : []
  return [
    ...(thinking === ''
      ? []
      : [{ core: { kind: 'reasoning' as const, text: thinking }, part: 'thinking' as const, index: 0 }]),
    ...(content === '' ? [] : [{ core: { kind, text: content }, part: 'content' as const, index: 0 }]),
    ...images.map((data, index): Found => {
      const media = defined({ type: 'image' as const, data: stringOf(data) })
      return { core: { kind: 'media', text: '', media: [media] }, part: 'images', index }
    }),
    ...calls.map((value, index): Found => {
      const call = recordOf(value) ?? {}
      const body = recordOf(call['function']) ?? {}
      const core = defined({
        kind: 'call' as const,
        text: stringOf(body['arguments']) ?? rawArgumentsOf(index),
        callId: stringOf(call['id']),
        toolName: stringOf(body['name']),
      })
      return { core, part: 'tool_calls', index }
    }),
  ]
}

/** A tool message names its tool, its call, or both; servers before call ids paired by name and order. */
function resultOf(message: Fields, { toolNames }: Reader): ItemCore {
  const callId = stringOf(message['tool_call_id'])
  const toolName = stringOf(message['tool_name']) ?? toolNames.get(callId ?? '')
  return { kind: 'result', text: textOf(message['content']), ...defined({ callId, toolName }) }
}

function rawAt({ text, root }: Reader, message: number, part: Place['part']): string {
  return rawText(text, nodeAt(root, { message, part, index: 0 }))
}

function rawArguments({ text, root }: Reader, message: number, index: number): string {
  const call = nodeAt(root, { message, part: 'tool_calls', index })
  const input = member(member(call, 'function'), 'arguments')
  return input === undefined ? '' : rawText(text, input)
}

function readTools(text: string, root: JsonNode, body: Fields): ToolDeclaration[] {
  const { tools } = body
  if (tools === undefined || tools === null) return []
  if (!Array.isArray(tools)) throw badInput(FORMAT, 'tools', 'an array')
  const nodes = member(root, 'tools')!.items!
  return objectsIn(tools, FORMAT, 'tools').map((tool, i) => ({
    name: toolNameOf(tool),
    text: rawText(text, nodes[i]!),
  }))
}

export const toolNameOf = (tool: unknown): string => textOf(recordOf(recordOf(tool)?.['function'])?.['name'])

function readSettings(body: Fields): RequestSettings {
  const options = recordOf(body['options']) ?? {}
  const cap = numberOf(options['num_predict'])
  const format = body['format']
  return {
    ...(format !== undefined && format !== null && format !== '' && { shapesAnswer: true as const }),
    // The server streams unless it is told not to.
    stream: body['stream'] !== false,
    reasoning: body['think'] !== undefined && body['think'] !== false,
    ...defined({
      model: stringOf(body['model']),
      window: positive(options['num_ctx']),
      // Less than nothing means no cap.
      maxOutputTokens: cap !== undefined && cap > 0 ? cap : undefined,
    }),
  }
}

function positive(value: unknown): number | undefined {
  const number = numberOf(value)
  return number !== undefined && number > 0 ? number : undefined
}

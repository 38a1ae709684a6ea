import type { RequestSettings } from '../../core/conversation.ts'
import type { Item, ItemCore, Media, Role, ToolDeclaration } from '../../core/item.ts'
import { type Fields, numberOf, recordOf, stringOf, textOf } from '../../core/values.ts'
import { member } from '../json/json-index.ts'
import { decoder, type Position, type Reader } from '../kit/body.ts'
import { badInput, placedItem, toolsUnder } from '../kit/reading.ts'

export const FORMAT = 'ollama-chat'

/** Where an item stands in its message: a member of it, an entry of its pictures or calls, or all of it. */
export interface ItemPosition extends Position {
  readonly part: 'message' | 'content' | 'thinking' | 'images' | 'tool_calls'
}

/** This wire's bodies, read. */
export const body = decoder<ItemPosition>({
  format: FORMAT,
  listPath: () => ['messages'],
  pathOf({ message, part, index }) {
    if (part === 'message') return ['messages', message]
    return ['messages', message, part, ...(part === 'images' || part === 'tool_calls' ? [index] : [])]
  },
  isHead: ({ role }) => role === 'system',
  headKeys: [],
  readMessage,
  readTools,
  toolKeys: ['tools'],
  readSettings,
})

export const { positionOf, nodeAt } = body

interface Found {
  readonly core: ItemCore
  readonly part: ItemPosition['part']
  readonly index: number
}

const KINDS = { system: 'instruction', user: 'user', assistant: 'assistant' } as const

function readMessage(reader: Reader, message: Fields, index: number): Item[] {
  const { role } = message
  if (typeof role !== 'string') throw badInput(FORMAT, `messages[${index}].role`, 'a string')
  const item = (at: number, ours: Role, { core, part, index: place }: Found): Item => {
    const origin: ItemPosition = { message: index, part, index: place }
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
      const media: Media = { type: 'image', data: stringOf(data) }
      return { core: { kind: 'media', text: '', media: [media] }, part: 'images', index }
    }),
    ...calls.map((value, index): Found => {
      const call = recordOf(value) ?? {}
      const body = recordOf(call['function']) ?? {}
      const core: ItemCore = {
        kind: 'call',
        text: stringOf(body['arguments']) ?? rawArgumentsOf(index),
        callId: stringOf(call['id']),
        toolName: stringOf(body['name']),
      }
      return { core, part: 'tool_calls', index }
    }),
  ]
}

/** A tool message names its tool, its call, or both; servers before call ids paired by name and order. */
function resultOf(message: Fields, { toolNames }: Reader): ItemCore {
  const callId = stringOf(message['tool_call_id'])
  const toolName = stringOf(message['tool_name']) ?? toolNames.get(callId ?? '')
  return { kind: 'result', text: textOf(message['content']), callId, toolName }
}

function rawAt({ root }: Reader, message: number, part: ItemPosition['part']): string {
  return nodeAt(root, { message, part, index: 0 }).raw
}

function rawArguments({ root }: Reader, message: number, index: number): string {
  const call = nodeAt(root, { message, part: 'tool_calls', index })
  const input = member(member(call, 'function'), 'arguments')
  return input === undefined ? '' : input.raw
}

function readTools({ root }: Reader): ToolDeclaration[] {
  return toolsUnder(root, 'tools', FORMAT, (tool) => ({ name: toolNameOf(tool) }))
}

export const toolNameOf = (tool: unknown): string => textOf(recordOf(recordOf(tool)?.['function'])?.['name'])

function readSettings(body: Fields): RequestSettings {
  const options = recordOf(body['options']) ?? {}
  const cap = numberOf(options['num_predict'])
  const format = body['format']
  return {
    shapesAnswer: format !== undefined && format !== null && format !== '' ? true : undefined,
    // The server streams unless it is told not to.
    stream: body['stream'] !== false,
    reasoning: body['think'] !== undefined && body['think'] !== false,
    model: stringOf(body['model']),
    window: positive(options['num_ctx']),
    // Less than nothing means no cap.
    maxOutputTokens: cap !== undefined && cap > 0 ? cap : undefined,
  }
}

function positive(value: unknown): number | undefined {
  const number = numberOf(value)
  return number !== undefined && number > 0 ? number : undefined
}

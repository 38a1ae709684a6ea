import type { Conversation, RequestSettings } from '../../core/conversation.ts'
import type { Item, Role, ToolDeclaration } from '../../core/item.ts'
import { indexJson, member, rawText, type JsonNode } from '../json-index.ts'
import { badInput, defined, numberOf, objectsIn, recordOf, stringOf } from '../reading.ts'
import { kindOf, readCall, readPart, readReasoning, readResultContent, type ItemCore } from './parts.ts'
import { FORMAT, INDEX_DEPTH, isInstructionRole, type Place, type Source } from './wire.ts'

export function decode(text: string): Conversation {
  const root = indexJson(text, INDEX_DEPTH)
  if (root.type !== 'object') throw badInput(FORMAT, 'the body', 'an object')
  const list = member(root, 'messages')
  if (list?.type !== 'array') throw badInput(FORMAT, 'messages', 'an array')
  const messages = objectsIn(list, FORMAT, 'messages')
  const firstOther = messages.findIndex((message) => !isInstructionRole(member(message, 'role')?.value))
  const headCount = firstOther < 0 ? messages.length : firstOther
  const toolNames = new Map<string, string>()
  const read = messages.map((message, index) => readMessage(text, message, index, toolNames))
  const source: Source = { text, root, messages, headCount, items: read }
  return {
    format: FORMAT,
    head: read.slice(0, headCount).flatMap((items) => items.map((item) => ({ ...item, message: -1 }))),
    items: read.slice(headCount).flat(),
    tools: readTools(text, root),
    settings: readSettings(root),
    source: { format: FORMAT, value: source },
  }
}

function readMessage(text: string, message: JsonNode, index: number, toolNames: Map<string, string>): Item[] {
  const fields = message.value as Record<string, unknown>
  const role = fields['role']
  if (typeof role !== 'string') throw badInput(FORMAT, `messages[${index}].role`, 'a string')
  const whole: Place = { shape: 'message', node: message }
  if (role === 'tool' || role === 'function') return [item(index, 0, 'tool', readResult(fields, toolNames), whole)]
  if (role !== 'user' && role !== 'assistant' && !isInstructionRole(role)) {
    return [item(index, 0, 'user', { kind: 'opaque', text: rawText(text, message), sealed: true }, whole)]
  }
  const ours: Role = role === 'user' || role === 'assistant' ? role : 'system'
  const found = [
    ...(ours === 'assistant' ? readReasoningField(message) : []),
    ...readContent(text, message, index, ours),
    ...(ours === 'assistant' ? readAnswerFields(text, message, index, toolNames) : []),
  ]
  // Clients send "" and null for the same thing; neither is an item where the message says something else.
  const filled = found.length > 1 ? found.filter((one) => !isEmptyContent(one)) : found
  // A message that says nothing is still there: one item stands for it, so that it can be dropped.
  if (filled.length === 0) return [item(index, 0, ours, { kind: kindOf(ours), text: '' }, whole)]
  return filled.map(({ core, place }, at) => item(index, at, ours, core, place))
}

interface Found {
  readonly core: ItemCore
  readonly place: Place
}

const isEmptyContent = ({ core, place }: Found): boolean =>
  core.text === '' && place.shape === 'fields' && place.keys[0] === 'content'

function item(message: number, at: number, role: Role, core: ItemCore, place: Place): Item {
  return { id: `m${message}.${at}`, role, message, ...core, origin: { format: FORMAT, value: place } }
}

function readContent(text: string, message: JsonNode, index: number, role: Role): Found[] {
  const content = member(message, 'content')
  if (content === undefined || content.value === null) return []
  if (content.type === 'string') {
    const place: Place = { shape: 'fields', node: content, keys: ['content'] }
    return [{ core: { kind: kindOf(role), text: content.value as string }, place }]
  }
  const path = `messages[${index}].content`
  if (content.type !== 'array') throw badInput(FORMAT, path, 'a string, an array or null')
  return objectsIn(content, FORMAT, path).map((node, at) => ({
    core: readPart(node.value as Record<string, unknown>, role, () => rawText(text, node)),
    place: { shape: 'part', node, index: at },
  }))
}

function readReasoningField(message: JsonNode): Found[] {
  const read = readReasoning(message.value as Record<string, unknown>)
  if (read === undefined) return []
  const { keys, ...core } = read
  return [{ core, place: { shape: 'fields', node: message, keys } }]
}

/** What an assistant message says beside its content. */
function readAnswerFields(text: string, message: JsonNode, index: number, toolNames: Map<string, string>): Found[] {
  const found: Found[] = []
  const field = (key: string, core: (node: JsonNode) => ItemCore | undefined): void => {
    const node = member(message, key)
    const read = node === undefined || node.value === null ? undefined : core(node)
    if (read !== undefined) found.push({ core: read, place: { shape: 'fields', node: node!, keys: [key] } })
  }
  field('refusal', ({ value }) => (stringOf(value) ? { kind: 'assistant', text: value as string } : undefined))
  // An answer in sound is sent back by its id: the vendor holds the bytes.
  field('audio', ({ value }) => {
    const media = defined({ type: 'audio' as const, reference: stringOf(recordOf(value)?.['id']) })
    return { kind: 'media', text: '', sealed: true, media: [media] }
  })
  const calls = member(message, 'tool_calls')
  if (calls !== undefined && calls.value !== null) {
    const path = `messages[${index}].tool_calls`
    if (calls.type !== 'array') throw badInput(FORMAT, path, 'an array')
    for (const [at, node] of objectsIn(calls, FORMAT, path).entries()) {
      const core = readCall(node.value as Record<string, unknown>, () => rawArguments(text, member(node, 'function')))
      if (core.callId !== undefined && core.toolName !== undefined) toolNames.set(core.callId, core.toolName)
      found.push({ core, place: { shape: 'call', node, index: at } })
    }
  }
  field('function_call', (node) => readCall({ function: node.value }, () => rawArguments(text, node)))
  return found
}

function rawArguments(text: string, call: JsonNode | undefined): string {
  const input = member(call, 'arguments')
  return input === undefined ? '' : rawText(text, input)
}

function readResult(fields: Record<string, unknown>, toolNames: ReadonlyMap<string, string>): ItemCore {
  const callId = stringOf(fields['tool_call_id'])
  return {
    kind: 'result',
    ...readResultContent(fields['content']),
    ...defined({ callId, toolName: toolNames.get(callId ?? '') ?? stringOf(fields['name']) }),
  }
}

function readTools(text: string, root: JsonNode): ToolDeclaration[] {
  return ['tools', 'functions'].flatMap((key) => {
    const tools = member(root, key)
    if (tools === undefined || tools.value === null) return []
    if (tools.type !== 'array') throw badInput(FORMAT, key, 'an array')
    return objectsIn(tools, FORMAT, key).map((node) => ({ name: toolNameOf(node), text: rawText(text, node) }))
  })
}

/** The name that a declaration goes by: a function's, a custom tool's, or the type of a tool that the vendor runs. */
export function toolNameOf(tool: JsonNode): string {
  const fields = tool.value as Record<string, unknown>
  const body = recordOf(fields['function']) ?? recordOf(fields['custom']) ?? fields
  return stringOf(body['name']) ?? stringOf(fields['type']) ?? ''
}

function readSettings(root: JsonNode): RequestSettings {
  const body = root.value as Record<string, unknown>
  const effort = body['reasoning_effort'] ?? recordOf(body['reasoning'])?.['effort']
  return {
    stream: body['stream'] === true,
    reasoning:
      (effort !== undefined && effort !== null && effort !== 'none') || recordOf(body['reasoning']) !== undefined,
    ...defined({
      model: stringOf(body['model']),
      maxOutputTokens: numberOf(body['max_completion_tokens']) ?? numberOf(body['max_tokens']),
    }),
  }
}

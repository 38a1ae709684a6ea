import type { Conversation, RequestSettings } from '../../core/conversation.ts'
import type { Item, Role, ToolDeclaration } from '../../core/item.ts'
import { indexJson, member, rawText, type JsonNode } from '../json-index.ts'
import { badInput, defined, numberOf, objectsIn, recordOf, stringOf } from '../reading.ts'
import { kindOf, readItem, readPart, type ItemCore } from './items.ts'
import { FORMAT, INDEX_DEPTH, typeOf, type Place, type Source } from './wire.ts'

export function decode(text: string): Conversation {
  const root = indexJson(text, INDEX_DEPTH)
  if (root.type !== 'object') throw badInput(FORMAT, 'the body', 'an object')
  const list = member(root, 'input')
  const input = readInputList(list)
  const firstOther = input.findIndex((node) => !isInstruction(node))
  const headCount = firstOther < 0 ? input.length : firstOther
  const toolNames = new Map<string, string>()
  const read = input.map((node, index) => readElement(text, node, index, toolNames))
  const whole: Item[] =
    list?.type === 'string'
      ? [
          placed(
            'm0.0',
            0,
            { kind: 'user', role: 'user', text: list.value as string },
            { shape: 'input', node: list, index: 0 },
          ),
        ]
      : []
  const source: Source = { text, root, input, headCount, counts: read.map((items) => items.length) }
  return {
    format: FORMAT,
    head: [
      ...readInstructions(text, member(root, 'instructions')),
      ...read.slice(0, headCount).flatMap((items) => items.map((item) => ({ ...item, message: -1 }))),
    ],
    items: [...whole, ...read.slice(headCount).flat()],
    tools: readTools(text, member(root, 'tools')),
    settings: readSettings(root),
    source: { format: FORMAT, value: source },
  }
}

function readInputList(list: JsonNode | undefined): readonly JsonNode[] {
  if (list === undefined || list.value === null || list.type === 'string') return []
  if (list.type !== 'array') throw badInput(FORMAT, 'input', 'a string or an array')
  return objectsIn(list, FORMAT, 'input')
}

function isInstruction(node: JsonNode): boolean {
  const fields = node.value as Record<string, unknown>
  return typeOf(fields) === 'message' && (fields['role'] === 'system' || fields['role'] === 'developer')
}

function readInstructions(text: string, node: JsonNode | undefined): Item[] {
  if (node === undefined || node.value === null) return []
  const words = stringOf(node.value) ?? rawText(text, node)
  return [
    placed(
      'instructions',
      -1,
      { kind: 'instruction', role: 'system', text: words },
      { shape: 'content', node, index: 0 },
    ),
  ]
}

function placed(id: string, message: number, core: ItemCore, place: Place): Item {
  return { id, message, ...core, origin: { format: FORMAT, value: place } }
}

function readElement(text: string, node: JsonNode, index: number, toolNames: Map<string, string>): Item[] {
  const fields = node.value as Record<string, unknown>
  if (typeOf(fields) === 'message') return readMessage(text, node, index)
  const core = readItem(fields, (key) => rawOf(text, node, key))
  if (core.kind === 'call' && core.callId !== undefined && core.toolName !== undefined)
    toolNames.set(core.callId, core.toolName)
  const known = core.kind === 'result' ? toolNames.get(core.callId ?? '') : undefined
  const place: Place = { shape: 'item', node, index: 0 }
  return [placed(`m${index}.0`, index, known === undefined ? core : { ...core, toolName: known }, place)]
}

function rawOf(text: string, node: JsonNode, key: string | undefined): string {
  const found = key === undefined ? node : member(node, key)
  return found === undefined ? '' : rawText(text, found)
}

function readMessage(text: string, node: JsonNode, index: number): Item[] {
  const path = `input[${index}]`
  const role = roleOf(member(node, 'role')?.value)
  const whole: Place = { shape: 'item', node, index: 0 }
  if (role === undefined) {
    return [
      placed(`m${index}.0`, index, { kind: 'opaque', role: 'user', text: rawText(text, node), sealed: true }, whole),
    ]
  }
  const content = member(node, 'content')
  const say = (words: string): ItemCore => ({ kind: kindOf(role), role, text: words })
  if (content?.type === 'string') {
    const place: Place = { shape: 'content', node: content, index: 0 }
    return [placed(`m${index}.0`, index, say(content.value as string), place)]
  }
  if (content !== undefined && content.value !== null && content.type !== 'array')
    throw badInput(FORMAT, `${path}.content`, 'a string or an array')
  const parts = content === undefined ? [] : objectsIn(content, FORMAT, `${path}.content`)
  // A message that says nothing is still there: one item stands for it, so that it can be dropped.
  if (parts.length === 0) return [placed(`m${index}.0`, index, say(''), whole)]
  return parts.map((part, at) => {
    const core = readPart(part.value as Record<string, unknown>, role, () => rawText(text, part))
    return placed(`m${index}.${at}`, index, core, { shape: 'part', node: part, index: at })
  })
}

function roleOf(role: unknown): Role | undefined {
  if (role === 'user' || role === 'assistant') return role
  return role === 'system' || role === 'developer' ? 'system' : undefined
}

function readTools(text: string, tools: JsonNode | undefined): ToolDeclaration[] {
  if (tools === undefined || tools.value === null) return []
  if (tools.type !== 'array') throw badInput(FORMAT, 'tools', 'an array')
  return objectsIn(tools, FORMAT, 'tools').map((node) => ({ name: toolNameOf(node.value), text: rawText(text, node) }))
}

/** The name that a declaration or a choice goes by: its own, an MCP server's, or the type of a tool that OpenAI runs. */
export function toolNameOf(tool: unknown): string {
  const fields = recordOf(tool) ?? {}
  return stringOf(fields['name']) ?? stringOf(fields['server_label']) ?? stringOf(fields['type']) ?? ''
}

function readSettings(root: JsonNode): RequestSettings {
  const body = root.value as Record<string, unknown>
  const reasoning = recordOf(body['reasoning'])
  const conversation = body['conversation']
  return {
    stream: body['stream'] === true,
    reasoning: reasoning !== undefined && reasoning['effort'] !== 'none',
    ...defined({
      model: stringOf(body['model']),
      maxOutputTokens: numberOf(body['max_output_tokens']),
      previousResponseId: stringOf(body['previous_response_id']),
      conversationId: stringOf(conversation) ?? stringOf(recordOf(conversation)?.['id']),
    }),
  }
}

import type { Conversation, RequestSettings } from '../../core/conversation.ts'
import type { Item, Role, ToolDeclaration } from '../../core/item.ts'
import { indexJson, member, rawText, type JsonNode } from '../json-index.ts'
import { badInput, defined, numberOf, objectsIn, recordOf, stringOf } from '../reading.ts'
import { spliceMemberOut } from '../splice.ts'
import { readBlock } from './blocks.ts'
import { FORMAT, INDEX_DEPTH, type Place, type Source } from './wire.ts'

export function decode(text: string): Conversation {
  const root = indexJson(text, INDEX_DEPTH)
  if (root.type !== 'object') throw badInput(FORMAT, 'the body', 'an object')
  const list = member(root, 'messages')
  if (list?.type !== 'array') throw badInput(FORMAT, 'messages', 'an array')
  const messages = objectsIn(list, FORMAT, 'messages')
  const source: Source = { text, root, messages }
  const toolNames = new Map<string, string>()
  const items = messages.flatMap((message, index) => readMessage(text, message, index, toolNames))
  return {
    format: FORMAT,
    head: readSystem(text, member(root, 'system')),
    items,
    tools: readTools(text, member(root, 'tools')),
    settings: readSettings(root),
    source: { format: FORMAT, value: source },
  }
}

function readSystem(text: string, system: JsonNode | undefined): Item[] {
  if (system === undefined || system.value === null) return []
  if (system.type === 'string')
    return [instruction('s0', system.value as string, { node: system, bare: true, block: 0 })]
  if (system.type !== 'array') throw badInput(FORMAT, 'system', 'a string or an array')
  return objectsIn(system, FORMAT, 'system').map((node, block) => {
    const words = stringOf(recordOf(node.value)?.['text']) ?? rawText(text, node)
    return instruction(`s${block}`, words, { node, bare: false, block })
  })
}

function instruction(id: string, text: string, place: Place): Item {
  return { id, kind: 'instruction', role: 'system', text, message: -1, origin: { format: FORMAT, value: place } }
}

function readMessage(text: string, message: JsonNode, index: number, toolNames: Map<string, string>): Item[] {
  const path = `messages[${index}]`
  const role = roleOf(message, path)
  const content = member(message, 'content')
  // An empty list says as little as an empty string; one item stands for it, so that the message keeps its place.
  if (content?.type === 'string' || (content?.type === 'array' && content.items?.length === 0)) {
    const kind = role === 'system' ? 'instruction' : role === 'assistant' ? 'assistant' : 'user'
    const place: Place = { node: content, bare: true, block: 0 }
    return [
      {
        id: `m${index}.0`,
        kind,
        role,
        text: stringOf(content.value) ?? '',
        message: index,
        origin: { format: FORMAT, value: place },
      },
    ]
  }
  if (content?.type !== 'array') throw badInput(FORMAT, `${path}.content`, 'a string or an array')
  return objectsIn(content, FORMAT, `${path}.content`).map((node, block) => {
    const read = readBlock(
      node.value as Record<string, unknown>,
      role,
      () => unmarked(text, node),
      () => rawInput(text, node),
    )
    if (read.kind === 'call' && read.callId !== undefined && read.toolName !== undefined)
      toolNames.set(read.callId, read.toolName)
    const toolName = read.toolName ?? (read.kind === 'result' ? toolNames.get(read.callId ?? '') : undefined)
    const place: Place = { node, bare: false, block }
    return {
      id: `m${index}.${block}`,
      role: read.kind === 'result' && read.serverSide !== true ? 'tool' : role,
      message: index,
      ...read,
      kind: role === 'system' && read.kind === 'user' ? 'instruction' : read.kind,
      ...(toolName !== undefined && { toolName }),
      origin: { format: FORMAT, value: place },
    }
  })
}

/** Clients move their cache marks from request to request; a block is the same block with or without one. */
function unmarked(text: string, block: JsonNode): string {
  const mark = spliceMemberOut(block, 'cache_control')
  if (mark === undefined) return rawText(text, block)
  return text.slice(block.start, mark.start) + text.slice(mark.end, block.end)
}

function rawInput(text: string, block: JsonNode): string {
  const input = member(block, 'input')
  return input === undefined ? '{}' : rawText(text, input)
}

function roleOf(message: JsonNode, path: string): Role {
  const role = member(message, 'role')?.value
  if (role !== 'user' && role !== 'assistant' && role !== 'system')
    throw badInput(FORMAT, `${path}.role`, '"user" or "assistant"')
  return role
}

function readTools(text: string, tools: JsonNode | undefined): ToolDeclaration[] {
  if (tools === undefined || tools.value === null) return []
  if (tools.type !== 'array') throw badInput(FORMAT, 'tools', 'an array')
  return objectsIn(tools, FORMAT, 'tools').map((node) => {
    const fields = node.value as Record<string, unknown>
    return { name: stringOf(fields['name']) ?? stringOf(fields['type']) ?? '', text: rawText(text, node) }
  })
}

function readSettings(root: JsonNode): RequestSettings {
  const body = root.value as Record<string, unknown>
  const thinking = recordOf(body['thinking'])?.['type']
  return {
    stream: body['stream'] === true,
    reasoning: thinking === 'enabled' || thinking === 'adaptive',
    ...defined({ model: stringOf(body['model']), maxOutputTokens: numberOf(body['max_tokens']) }),
  }
}

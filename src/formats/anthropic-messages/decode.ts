import type { RequestSettings } from '../../core/conversation.ts'
import type { Item, ItemCore, Media, Role, ToolDeclaration } from '../../core/item.ts'
import { listOf, type Fields, numberOf, recordOf, recordsIn, stringOf } from '../../core/values.ts'
import { type JsonNode, member } from '../json/json-index.ts'
import { spliceMembers } from '../json/splice.ts'
import { decoder, type Position, type Reader } from '../kit/body.ts'
import { sealedBy } from '../kit/editing.ts'
import { badInput, objectsIn, placedItem, toolsUnder } from '../kit/reading.ts'

export const FORMAT = 'anthropic-messages'

/** The position of an item: a block of a message, or content that is a message's only item. */
export interface ItemPosition extends Position {
  /** True when the content has no blocks: a plain string, or an empty list. */
  readonly bare: boolean
}

/** Blocks of provider-run tools are called `x_tool_use` and `x_tool_result`. New ones keep appearing, so they are recognised by this pattern. */
const isServerCall = (type: string): boolean => type !== 'tool_use' && type.endsWith('tool_use')
const isServerResult = (type: string): boolean => type !== 'tool_result' && type.endsWith('tool_result')

export const body = decoder<ItemPosition>({
  format: FORMAT,
  markKeys: ['cache_control'],
  listPath: () => ['messages'],
  pathOf: ({ message, bare, index }) => ['messages', message, 'content', ...(bare ? [] : [index])],
  readMessage,
  readHead,
  readTools,
  readSettings,
})

export const { positionOf, nodeAt, decode } = body

type Block = Readonly<Record<string, unknown>>

/** Reads one content block. `raw` returns its JSON text, `rawInput` that of a call's arguments, as on the wire. */
export function readBlock(block: Block, role: Role, raw: () => string, rawInput: () => string): ItemCore {
  const type = stringOf(block['type']) ?? ''
  if (type === 'text') return { kind: role === 'assistant' ? 'assistant' : 'user', text: stringOf(block['text']) ?? '' }
  if (type === 'thinking') return { kind: 'reasoning', text: stringOf(block['thinking']) ?? '', sealed: true }
  // Encrypted, and only readable by its issuer, so it has no text; the meter derives its size from the payload.
  if (type === 'redacted_thinking') {
    return { kind: 'reasoning', text: '', sealed: true, ...sealedBy(stringOf(block['data'])) }
  }
  if (type === 'tool_use' || isServerCall(type)) {
    const serverSide = isServerCall(type) ? true : undefined
    return {
      kind: 'call',
      text: rawInput(),
      callId: stringOf(block['id']),
      toolName: stringOf(block['name']),
      serverSide,
    }
  }
  if (type === 'tool_result') return readResult(block)
  if (isServerResult(type)) {
    return {
      kind: 'result',
      text: raw(),
      callId: stringOf(block['tool_use_id']),
      serverSide: true,
      sealed: true,
    }
  }
  if (type === 'image' || type === 'document')
    return { kind: 'media', text: documentText(block), media: [readMedia(block)] }
  if (type === 'compaction') return { kind: 'opaque', text: raw(), sealed: true, standsForPrefix: true }
  return { kind: 'opaque', text: raw(), sealed: true }
}

function readResult(block: Block): ItemCore {
  const content = block['content']
  const parts = listOf(content).map((part) => recordOf(part) ?? {})
  const media = parts.filter((part) => part['type'] === 'image' || part['type'] === 'document').map(readMedia)
  const texts = parts.map((part) => stringOf(part['text'])).filter((text) => text !== undefined)
  return {
    kind: 'result',
    text: stringOf(content) ?? texts.join('\n'),
    callId: stringOf(block['tool_use_id']),
    isError: block['is_error'] === true ? true : undefined,
    media: media.length > 0 ? media : undefined,
  }
}

function readMedia(block: Block): Media {
  const source = recordOf(block['source']) ?? {}
  return {
    type: block['type'] === 'image' ? 'image' : 'document',
    mime: stringOf(source['media_type']),
    data: source['type'] === 'base64' ? stringOf(source['data']) : undefined,
    reference: stringOf(source['url']) ?? stringOf(source['file_id']),
    name: stringOf(block['title']),
  }
}

/** A document may contain plain text instead of a file; the model reads that text. */
function documentText(block: Block): string {
  const source = recordOf(block['source'])
  if (source?.['type'] === 'text') return stringOf(source['data']) ?? ''
  return ''
}

function readHead({ root }: Reader, { system }: Fields): Item[] {
  if (system === undefined || system === null) return []
  if (typeof system === 'string') return [instruction(0, system)]
  if (!Array.isArray(system)) throw badInput(FORMAT, 'system', 'a string or an array')
  return objectsIn(system, FORMAT, 'system').map((fields, block) =>
    instruction(block, stringOf(fields['text']) ?? member(root, 'system')!.items![block]!.raw),
  )
}

const instruction = (block: number, text: string): Item => ({
  id: `s${block}`,
  kind: 'instruction',
  role: 'system',
  text,
  message: -1,
})

function readMessage({ root, toolNames }: Reader, message: Fields, index: number): Item[] {
  const path = `messages[${index}]`
  const { role, content } = message
  if (role !== 'user' && role !== 'assistant' && role !== 'system')
    throw badInput(FORMAT, `${path}.role`, '"user" or "assistant"')
  // An item stands for an empty list, as for an empty string, so that the message is not lost.
  if (typeof content === 'string' || (Array.isArray(content) && content.length === 0)) {
    const kind = role === 'system' ? 'instruction' : role === 'assistant' ? 'assistant' : 'user'
    const place: ItemPosition = { message: index, bare: true, index: 0 }
    return [placedItem(FORMAT, place, 0, role, { kind, text: stringOf(content) ?? '' })]
  }
  if (!Array.isArray(content)) throw badInput(FORMAT, `${path}.content`, 'a string or an array')
  return objectsIn(content, FORMAT, `${path}.content`).map((fields, block) => {
    const place: ItemPosition = { message: index, bare: false, index: block }
    const read = readBlock(
      fields,
      role,
      () => unmarked(nodeAt(root, place)),
      () => member(nodeAt(root, place), 'input')?.raw ?? '{}',
    )
    const { kind, callId = '' } = read
    if (kind === 'call' && read.toolName !== undefined) toolNames.set(callId, read.toolName)
    return placedItem(FORMAT, place, block, kind === 'result' && read.serverSide !== true ? 'tool' : role, {
      ...read,
      kind: role === 'system' && kind === 'user' ? 'instruction' : kind,
      toolName: read.toolName ?? (kind === 'result' ? toolNames.get(callId) : undefined),
    })
  })
}

/** The block's text without its cache mark, because clients move their marks between requests. */
function unmarked(block: JsonNode): string {
  const [mark] = spliceMembers(block, new Map([['cache_control', undefined]]))
  return mark === undefined
    ? block.raw
    : block.text.slice(block.start, mark.start) + block.text.slice(mark.end, block.end)
}

/** Tokens that Anthropic's own tools add, by its documentation or else by that of similar tools. */
const DESCRIBED: readonly (readonly [RegExp, number])[] = [
  [/^bash_/, 245],
  [/^text_editor_/, 700],
  [/^computer_/, 735],
  [/^memory_/, 700],
  [/^(?:web_search|web_fetch|code_execution|tool_search)/, 1_600],
]

function readTools({ root }: Reader): ToolDeclaration[] {
  return toolsUnder(root, 'tools', FORMAT, ({ name, type }) => ({
    name: stringOf(name) ?? stringOf(type) ?? '',
    describedBy: DESCRIBED.find(([pattern]) => pattern.test(stringOf(type) ?? ''))?.[1],
  }))
}

/** Types of tools that the client runs: Anthropic only describes them to the model. */
const CLIENT_TOOLS = /^(?:custom|bash_|text_editor_|computer_|memory_)/

function readSettings(body: Fields): RequestSettings {
  const { type: thinking, budget_tokens: budget } = recordOf(body['thinking']) ?? {}
  const choice = recordOf(body['tool_choice'])?.['type']
  const format = body['output_format'] ?? recordOf(body['output_config'])?.['format']
  const isShaped = choice === 'any' || choice === 'tool' || (format !== undefined && format !== null)
  // Context management removes parts of the prompt; a container and MCP servers add some.
  const held = ['mcp_servers', 'container', 'context_management'].filter((key) => (body[key] ?? null) !== null)
  const tools = recordsIn(body['tools']).flatMap(({ type }) => stringOf(type) ?? [])
  const unseen = [...held, ...tools.filter((type) => !CLIENT_TOOLS.test(type))]
  const schema = recordOf(recordOf(format)?.['schema'])
  return {
    unseen: unseen.length > 0 ? unseen : undefined,
    forcesTool: choice === 'any' || choice === 'tool' ? true : undefined,
    answerSchema: schema !== undefined ? JSON.stringify(schema) : undefined,
    shapesAnswer: isShaped ? true : undefined,
    stream: body['stream'] === true,
    reasoning: thinking === 'enabled' || thinking === 'adaptive',
    model: stringOf(body['model']),
    maxOutputTokens: numberOf(body['max_tokens']),
    thinkingBudget: numberOf(budget),
  }
}

import type { RequestSettings } from '../../core/conversation.ts'
import type { Item, ItemCore, Media, Role, ToolDeclaration } from '../../core/item.ts'
import { listOf, type Fields, numberOf, recordOf, stringOf } from '../../core/values.ts'
import { compactJson, member } from '../json/json-index.ts'
import { decoder, type Position, type Reader } from '../kit/body.ts'
import { sealedBy } from '../kit/editing.ts'
import { arrayOf, badInput, objectsIn, placedItem, readUrl, toolsUnder } from '../kit/reading.ts'
import { declaredAs, responseFormatAs } from '../kit/tools.ts'
import { kindOf, readAudio, readFile } from '../openai-chat/decode.ts'

export const FORMAT = 'openai-responses'

/**
 * The position of an item: an element of `input`, a part of a message's content, a string that is a message's whole content, or a string that is
 * the whole input.
 */
export interface ItemPosition extends Position {
  readonly shape: 'item' | 'part' | 'content' | 'input'
}

/** An element's type, which messages and references may omit. */
export function typeOf(fields: Fields): string {
  if (typeof fields['type'] === 'string') return fields['type']
  if (typeof fields['role'] === 'string') return 'message'
  return typeof fields['id'] === 'string' ? 'item_reference' : ''
}

export const body = decoder<ItemPosition>({
  format: FORMAT,
  markKeys: ['prompt_cache_breakpoint'],
  listPath: () => ['input'],
  messagesIn,
  pathOf({ shape, message, index }) {
    if (shape === 'input') return ['input']
    if (shape === 'item') return ['input', message]
    return ['input', message, 'content', ...(shape === 'content' ? [] : [index])]
  },
  isHead: (fields) => typeOf(fields) === 'message' && (fields['role'] === 'system' || fields['role'] === 'developer'),
  readMessage: readElement,
  readHead,
  readText,
  readTools,
  readSettings,
})

export const { positionOf, nodeAt } = body

export type RoledCore = ItemCore & Pick<Item, 'role'>

/** Returns the JSON text of a member, or of the whole item, as on the wire. */
export type Raw = (key?: string) => string

/** Calls with separate result items: the tool's name, and the member with the call's input. */
const CALLS: Readonly<Record<string, { readonly name?: string; readonly asks: string }>> = {
  function_call: { asks: 'arguments' },
  custom_tool_call: { asks: 'input' },
  local_shell_call: { name: 'local_shell', asks: 'action' },
  shell_call: { name: 'shell', asks: 'action' },
  apply_patch_call: { name: 'apply_patch', asks: 'operation' },
  computer_call: { name: 'computer', asks: 'action' },
  tool_search_call: { name: 'tool_search', asks: 'arguments' },
  mcp_approval_request: { asks: 'arguments' },
  program: { name: 'program', asks: 'code' },
}

const RESULTS: Readonly<Record<string, { readonly name?: string; readonly says: string; readonly sealed?: true }>> = {
  function_call_output: { says: 'output' },
  custom_tool_call_output: { says: 'output' },
  local_shell_call_output: { name: 'local_shell', says: 'output' },
  shell_call_output: { name: 'shell', says: 'output' },
  apply_patch_call_output: { name: 'apply_patch', says: 'output' },
  // A screenshot has no text, an approval must stay a yes or a no, and the others are written by the provider.
  computer_call_output: { name: 'computer', says: 'output', sealed: true },
  tool_search_output: { name: 'tool_search', says: 'tools', sealed: true },
  mcp_approval_response: { says: 'approve', sealed: true },
  program_output: { name: 'program', says: 'result', sealed: true },
}

/** A fingerprint covers a program, the user approved exactly this request, and a screen action has no text. */
const SEALED_CALLS = new Set(['program', 'mcp_approval_request', 'computer_call'])

/** Tools that the provider runs: call and result are one item, so no pair can be separated. */
const SERVER_RUNS = new Set(['web_search_call', 'file_search_call', 'code_interpreter_call', 'mcp_call'])

/** Opaque items that do not come from the model. */
const ROLES: Readonly<Record<string, Role>> = {
  additional_tools: 'system',
  configuration_update: 'system',
  compaction_trigger: 'user',
}

/** Reads one element of `input` or `output` that is not a message. */
export function readItem(fields: Fields, raw: Raw): RoledCore {
  const type = typeOf(fields)
  if (type === 'reasoning') {
    const core = { kind: 'reasoning', role: 'assistant', text: reasoningText(fields), sealed: true } as const
    return { ...core, ...sealedBy(stringOf(fields['encrypted_content'])) }
  }
  if (CALLS[type] !== undefined) return readCall(fields, type, raw)
  if (RESULTS[type] !== undefined) return readResult(fields, type, raw)
  if (type === 'image_generation_call') {
    const format = stringOf(fields['output_format']) ?? 'png'
    const media: Media = { type: 'image', mime: `image/${format}`, data: stringOf(fields['result']) }
    return { kind: 'media', role: 'assistant', text: '', sealed: true, media: [media] }
  }
  const core = { kind: 'opaque', role: ROLES[type] ?? 'assistant', text: raw(), sealed: true } as const
  if (type === 'compaction')
    return { ...core, standsForPrefix: true, ...sealedBy(stringOf(fields['encrypted_content'])) }
  if (!SERVER_RUNS.has(type)) return core
  return { ...core, serverSide: true, toolName: stringOf(fields['name']) ?? type.replace(/_call$/, '') }
}

function readCall(fields: Fields, type: string, raw: Raw): RoledCore {
  const { name, asks } = CALLS[type]!
  // Newer computer calls contain a list of actions.
  const key = type === 'computer_call' && fields[asks] === undefined ? 'actions' : asks
  return {
    kind: 'call',
    role: 'assistant',
    text: stringOf(fields[key]) ?? raw(key),
    callId: stringOf(fields['call_id']) ?? (type === 'mcp_approval_request' ? stringOf(fields['id']) : undefined),
    toolName: name ?? stringOf(fields['name']),
    serverSide: isServerSide(fields, type) ? true : undefined,
    sealed: SEALED_CALLS.has(type) ? true : undefined,
  }
}

function readResult(fields: Fields, type: string, raw: Raw): RoledCore {
  const { name, says, sealed } = RESULTS[type]!
  const ids: Readonly<Record<string, unknown>> = {
    mcp_approval_response: fields['approval_request_id'],
    local_shell_call_output: fields['call_id'] ?? fields['id'],
  }
  const serverSide = isServerSide(fields, type)
  return {
    kind: 'result',
    role: serverSide ? ('assistant' as const) : ('tool' as const),
    ...readOutput(fields[says], () => raw(says)),
    callId: stringOf(ids[type] ?? fields['call_id']),
    toolName: name ?? stringOf(fields['name']),
    isError: fields['status'] === 'failed' ? true : undefined,
    serverSide: serverSide ? true : undefined,
    sealed,
  }
}

function isServerSide(fields: Fields, type: string): boolean {
  if (type === 'program' || type === 'program_output') return true
  return (type === 'tool_search_call' || type === 'tool_search_output') && fields['execution'] !== 'client'
}

/** A result's text: a string, parts, the output streams of a shell, or any other JSON. */
function readOutput(output: unknown, raw: () => string): Pick<Item, 'text'> & { media: readonly Media[] | undefined } {
  const parts = (arrayOf(output) ?? [output]).map((part) => recordOf(part) ?? {})
  const media = parts.map(readMedia).filter((part) => part !== undefined)
  const texts = parts.flatMap((part) => {
    const streams = ['text', 'stdout', 'stderr'].map((key) => stringOf(part[key]) ?? '')
    return streams.filter((text) => text !== '')
  })
  const isEmpty = output === undefined || output === null || (Array.isArray(output) && output.length === 0)
  const text = stringOf(output) ?? (isEmpty || texts.length + media.length > 0 ? texts.join('\n') : compactJson(raw()))
  return { text, media: media.length > 0 ? media : undefined }
}

function reasoningText(fields: Fields): string {
  const parts = [...listOf(fields['summary']), ...listOf(fields['content'])]
  return parts.map((part) => stringOf(recordOf(part)?.['text']) ?? '').join('\n')
}

/** Reads one part of a message's content; `raw` returns its JSON text. */
export function readPart(part: Fields, role: Role, raw: () => string): RoledCore {
  const text = stringOf(part['text']) ?? stringOf(part['refusal'])
  if (text !== undefined) return { kind: kindOf(role), role, text }
  const media = readMedia(part)
  if (media !== undefined) return { kind: 'media', role, text: '', media: [media] }
  return { kind: 'opaque', role, text: raw(), sealed: true }
}

function readMedia(part: Fields): Media | undefined {
  switch (part['type']) {
    case 'input_image':
    case 'computer_screenshot':
      return {
        type: 'image',
        reference: stringOf(part['file_id']),
        ...readUrl(stringOf(part['image_url'])),
      }
    case 'input_audio':
      return readAudio(part)
    case 'input_file':
      return readFile(part)
    default:
      return undefined
  }
}

function messagesIn({ input }: Fields, from: number): readonly Fields[] {
  if (input === undefined || input === null || typeof input === 'string') return []
  if (!Array.isArray(input)) throw badInput(FORMAT, 'input', 'a string or an array')
  return objectsIn(input, FORMAT, 'input', from)
}

/** A string as the whole input. */
function readText({ input }: Fields): Item[] {
  if (typeof input !== 'string') return []
  return [placed(0, { kind: 'user', role: 'user', text: input }, { shape: 'input', message: 0, index: 0 })]
}

function readHead({ root }: Reader, { instructions }: Fields): Item[] {
  if (instructions === undefined || instructions === null) return []
  const words = stringOf(instructions) ?? member(root, 'instructions')!.raw
  return [{ id: 'instructions', kind: 'instruction', role: 'system', text: words, message: -1 }]
}

const placed = (at: number, core: RoledCore, place: ItemPosition): Item =>
  placedItem(FORMAT, place, at, core.role, core)

function readElement(reader: Reader, fields: Fields, index: number): Item[] {
  const { root, toolNames } = reader
  if (typeOf(fields) === 'message') return readMessage(reader, fields, index)
  const place: ItemPosition = { shape: 'item', message: index, index: 0 }
  const core = readItem(fields, (key) => {
    const node = nodeAt(root, place)
    const found = key === undefined ? node : member(node, key)
    return found === undefined ? '' : found.raw
  })
  if (core.kind === 'call' && core.callId !== undefined && core.toolName !== undefined)
    toolNames.set(core.callId, core.toolName)
  const known = core.kind === 'result' ? toolNames.get(core.callId ?? '') : undefined
  return [placed(0, known === undefined ? core : { ...core, toolName: known }, place)]
}

function readMessage({ root }: Reader, fields: Fields, index: number): Item[] {
  const path = `input[${index}].content`
  const role = roleOf(fields['role'])
  const whole: ItemPosition = { shape: 'item', message: index, index: 0 }
  if (role === undefined) {
    return [placed(0, { kind: 'opaque', role: 'user', text: nodeAt(root, whole).raw, sealed: true }, whole)]
  }
  const content = fields['content'] ?? []
  const say = (words: string): RoledCore => ({ kind: kindOf(role), role, text: words })
  if (typeof content === 'string') return [placed(0, say(content), { shape: 'content', message: index, index: 0 })]
  if (!Array.isArray(content)) throw badInput(FORMAT, path, 'a string or an array')
  // A message without content still gets an item, so that it can be dropped.
  if (content.length === 0) return [placed(0, say(''), whole)]
  return objectsIn(content, FORMAT, path).map((part, at) => {
    const place: ItemPosition = { shape: 'part', message: index, index: at }
    return placed(
      at,
      readPart(part, role, () => nodeAt(root, place).raw),
      place,
    )
  })
}

function roleOf(role: unknown): Role | undefined {
  if (role === 'user' || role === 'assistant') return role
  return role === 'system' || role === 'developer' ? 'system' : undefined
}

function readTools({ root }: Reader): ToolDeclaration[] {
  return toolsUnder(root, 'tools', FORMAT, (tool) => ({
    name: toolNameOf(tool),
    readAs: tool['type'] === 'function' ? declaredAs(tool) : undefined,
  }))
}

/** The name of a declaration or choice: its own, an MCP server's, or the type of a tool that OpenAI runs. */
export function toolNameOf(tool: unknown): string {
  const fields = recordOf(tool) ?? {}
  return stringOf(fields['name']) ?? stringOf(fields['server_label']) ?? stringOf(fields['type']) ?? ''
}

const forcesTool = (choice: unknown): boolean => choice === 'required' || recordOf(choice)?.['name'] !== undefined

/** Tools whose whole declaration is in the body; OpenAI runs or describes all others. */
const DECLARED_TYPES = new Set<unknown>(['function', 'custom', undefined])

function unseenIn(body: Fields): readonly string[] {
  const held = ['previous_response_id', 'conversation', 'prompt'].filter((key) => (body[key] ?? null) !== null)
  const tools = Array.isArray(body['tools']) ? body['tools'].map((tool) => recordOf(tool)?.['type']) : []
  const cuts = body['truncation'] === 'auto' ? ['truncation'] : []
  // In pro mode, several runs that the body does not show are counted as one prompt.
  const runs = recordOf(body['reasoning'])?.['mode'] === 'pro' ? ['reasoning mode pro'] : []
  return [...held, ...cuts, ...runs, ...tools.filter((type) => !DECLARED_TYPES.has(type)).map(String)]
}

function readSettings(body: Fields): RequestSettings {
  const reasoning = recordOf(body['reasoning'])
  const conversation = body['conversation']
  const format = recordOf(recordOf(body['text'])?.['format']) ?? {}
  const unseen = unseenIn(body)
  return {
    unseen: unseen.length > 0 ? unseen : undefined,
    shapesAnswer: (format['type'] ?? 'text') !== 'text' ? true : undefined,
    forcesTool: forcesTool(body['tool_choice']) ? true : undefined,
    stream: body['stream'] === true,
    reasoning: reasoning !== undefined && reasoning['effort'] !== 'none',
    model: stringOf(body['model']),
    maxOutputTokens: numberOf(body['max_output_tokens']),
    previousResponseId: stringOf(body['previous_response_id']),
    answerSchema: responseFormatAs(format),
    conversationId: stringOf(conversation) ?? stringOf(recordOf(conversation)?.['id']),
  }
}

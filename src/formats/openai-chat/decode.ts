import type { RequestSettings } from '../../core/conversation.ts'
import type { Item, Media, Role, ToolDeclaration } from '../../core/item.ts'
import { type Fields, numberOf, recordOf, stringOf } from '../../core/values.ts'
import { type JsonNode, member } from '../json/json-index.ts'
import { type BodyReading, type Decoder, decoder, type Position, type Reader } from '../kit/body.ts'
import {
  arrayOf,
  badInput,
  mediaTypeOf,
  objectsIn,
  placedItem,
  readUrl,
  toolsUnder,
  type ToolNames,
} from '../kit/reading.ts'
import { declaredAs, responseFormatAs } from '../kit/tools.ts'

export const FORMAT = 'openai-chat'

/** Members that hold a client's cache mark. */
export const MARK_KEYS = ['cache_control', 'prompt_cache_breakpoint']

/**
 * Where an item stands in its message. One assistant message keeps its text, calls and reasoning in different members, and
 * vendors keep the same reasoning in several at once.
 */
export interface ItemPosition extends Position {
  readonly shape: 'message' | 'fields' | 'part' | 'image' | 'call'
  /** Members that hold it, for `fields`. */
  readonly keys: readonly string[]
}

/** Members in which OpenAI-compatible vendors keep reasoning: DeepSeek, vLLM, OpenRouter, LiteLLM. */
export const REASONING_KEYS: readonly string[] = [
  'reasoning_content',
  'reasoning',
  'reasoning_details',
  'thinking_blocks',
]

/** The list that each kind of element stands in. */
const LISTS = { part: 'content', image: 'images', call: 'tool_calls' } as const

/** For reasoning that several members share, the message. */
function pathOf({ message, shape, keys, index }: ItemPosition): (string | number)[] {
  if (shape === 'message' || keys.length > 1) return ['messages', message]
  return ['messages', message, ...(shape === 'fields' ? [keys[0]!] : [LISTS[shape], index])]
}

/** How the bodies of a wire that keeps its messages as this one does are read. */
interface ChatReading extends Pick<BodyReading<ItemPosition>, 'format' | 'markKeys' | 'readTools' | 'readSettings'> {
  readonly instructionRoles: readonly unknown[]
  readonly resultRoles: readonly unknown[]
  readonly reasoningKeys: readonly string[]
  /** Pictures stand beside the content. */
  readonly hasImages?: true
}

export const chatDecoder = (wire: ChatReading): Decoder<ItemPosition> =>
  decoder<ItemPosition>({
    ...wire,
    listPath: () => ['messages'],
    pathOf,
    isHead: ({ role }) => wire.instructionRoles.includes(role),
    readMessage: (reader, message, index) => readMessage(wire, reader, message, index),
  })

/** This wire's bodies, read. */
export const body = chatDecoder({
  format: FORMAT,
  markKeys: MARK_KEYS,
  instructionRoles: ['system', 'developer'],
  resultRoles: ['tool', 'function'],
  reasoningKeys: REASONING_KEYS,
  readTools,
  readSettings,
})

export type ItemCore = Pick<Item, 'kind' | 'text'> & Partial<Pick<Item, 'callId' | 'toolName' | 'sealed' | 'media'>>

/** Reads one content part; `raw` gives its JSON text. */
export function readPart(part: Fields, role: Role, raw: () => string): ItemCore {
  const text = stringOf(part['text']) ?? stringOf(part['refusal'])
  const type = stringOf(part['type'])
  if (text !== undefined && (type === 'text' || type === 'refusal')) return { kind: kindOf(role), text }
  if (type === 'thinking') return { kind: 'reasoning', text: thinkingText(part['thinking']), sealed: true }
  const media = readMedia(part)
  if (media !== undefined) return { kind: 'media', text: '', media: [media] }
  return { kind: 'opaque', text: raw(), sealed: true }
}

function kindOf(role: Role): 'instruction' | 'assistant' | 'user' {
  return role === 'system' ? 'instruction' : role === 'assistant' ? 'assistant' : 'user'
}

function readMedia(part: Fields): Media | undefined {
  const type = stringOf(part['type'])
  if (type === 'image_url') return { type: 'image', ...readUrl(urlOf(part['image_url'])) }
  if (type === 'video_url') return { type: 'video', ...readUrl(urlOf(part['video_url'])) }
  if (type === 'input_audio') {
    const audio = recordOf(part['input_audio']) ?? {}
    const format = stringOf(audio['format'])
    return {
      type: 'audio',
      mime: format === undefined ? undefined : `audio/${format}`,
      data: stringOf(audio['data']),
    }
  }
  if (type !== 'file') return undefined
  const file = recordOf(part['file']) ?? {}
  const payload = readUrl(stringOf(file['file_data']))
  return {
    type: mediaTypeOf(payload.mime),
    mime: payload.mime,
    // Without the `data:` head, file_data is the bare payload.
    data: payload.data ?? payload.reference,
    reference: stringOf(file['file_id']),
    name: stringOf(file['filename']),
  }
}

/** Some vendors take the URL itself where OpenAI takes an object with a `url`. */
const urlOf = (value: unknown): string | undefined => stringOf(value) ?? stringOf(recordOf(value)?.['url'])

/** Mistral's thinking part holds text parts of its own. */
function thinkingText(value: unknown): string {
  const texts = (arrayOf(value) ?? []).map((part) => stringOf(recordOf(part)?.['text']) ?? '')
  return stringOf(value) ?? texts.join('\n')
}

/** One entry of `tool_calls`. `rawArguments` gives arguments that a vendor sends as an object, as they stand on the wire. */
export function readCall(call: Fields, rawArguments: () => string): ItemCore {
  const body = recordOf(call['function']) ?? recordOf(call['custom'])
  if (body === undefined) return { kind: 'call', text: '', callId: stringOf(call['id']) }
  const text = stringOf(body['arguments']) ?? stringOf(body['input']) ?? rawArguments()
  // Google's OpenAI-compatible endpoint signs the call itself.
  const signature = recordOf(recordOf(call['extra_content'])?.['google'])?.['thought_signature']
  return {
    kind: 'call',
    text,
    callId: stringOf(call['id']),
    toolName: stringOf(body['name']),
    sealed: signature === undefined ? undefined : true,
  }
}

/** The reasoning of an assistant message, wherever the vendor keeps it. */
export function readReasoning(
  message: Fields,
  members: readonly string[],
): (ItemCore & { readonly keys: readonly string[] }) | undefined {
  const keys = members.filter((key) => isReasoning(message[key]))
  if (keys.length === 0) return undefined
  const plain = keys.map((key) => stringOf(message[key])).find((text) => text !== undefined)
  const structured = keys.flatMap((key) => arrayOf(message[key]) ?? [])
  const words = structured.map((value) => {
    const entry = recordOf(value) ?? {}
    return stringOf(entry['text']) ?? stringOf(entry['summary']) ?? stringOf(entry['thinking']) ?? ''
  })
  return {
    kind: 'reasoning',
    text: plain ?? words.filter((text) => text !== '').join('\n'),
    // Plain text is the vendor's courtesy; entries can be signed or encrypted and must come back as they were.
    sealed: keys.some((key) => typeof message[key] !== 'string') ? true : undefined,
    keys,
  }
}

const isReasoning = (value: unknown): boolean =>
  typeof value === 'string' ? value !== '' : Array.isArray(value) ? value.length > 0 : recordOf(value) !== undefined

/** What a tool message says: its text, and the pictures that some vendors allow in it. */
function readResultContent(content: unknown): Pick<Item, 'text' | 'media'> {
  const plain = stringOf(content)
  if (plain !== undefined) return { text: plain }
  const parts = (arrayOf(content) ?? []).map((part) => recordOf(part) ?? {})
  const media = parts.map(readMedia).filter((part) => part !== undefined)
  const texts = parts.map((part) => stringOf(part['text'])).filter((text) => text !== undefined)
  return { text: texts.join('\n'), media: media.length > 0 ? media : undefined }
}

function readMessage(wire: ChatReading, reader: Reader, message: Fields, index: number): Item[] {
  const { format } = wire
  const { role } = message
  if (typeof role !== 'string') throw badInput(format, `messages[${index}].role`, 'a string')
  const whole: ItemPosition = { message: index, shape: 'message', keys: [], index: 0 }
  if (wire.resultRoles.includes(role))
    return [placedItem(format, whole, 0, 'tool', readResult(message, reader.toolNames))]
  const isInstruction = wire.instructionRoles.includes(role)
  if (role !== 'user' && role !== 'assistant' && !isInstruction)
    return [placedItem(format, whole, 0, 'user', { kind: 'opaque', text: rawAt(reader, whole), sealed: true })]
  const ours: Role = isInstruction ? 'system' : role === 'assistant' ? role : 'user'
  const found: Found[] = []
  if (ours === 'assistant') readReasoningFields(wire, message, index, found)
  readContent(wire, reader, message, index, ours, found)
  if (ours === 'assistant') readAnswerFields(wire, reader, message, index, found)
  // Clients send "" and null for the same thing; neither is an item where the message says something else.
  const filled = found.length > 1 ? found.filter((one) => !isEmptyContent(one)) : found
  // A message that says nothing is still there: one item stands for it, so that it can be dropped.
  if (filled.length === 0) return [placedItem(format, whole, 0, ours, { kind: kindOf(ours), text: '' })]
  return filled.map(({ core, place }, at) => placedItem(format, place, at, ours, core))
}

interface Found {
  readonly core: ItemCore
  readonly place: ItemPosition
}

const CONTENT = ['content']

const isEmptyContent = ({ core, place }: Found): boolean => core.text === '' && place.keys === CONTENT

const rawAt = ({ root }: Reader, place: ItemPosition): string => root.below(pathOf(place))!.raw

function readContent(
  { format, hasImages }: ChatReading,
  reader: Reader,
  message: Fields,
  index: number,
  role: Role,
  found: Found[],
): void {
  const { content } = message
  const path = `messages[${index}].content`
  if (typeof content === 'string') {
    found.push({
      core: { kind: kindOf(role), text: content },
      place: { message: index, shape: 'fields', keys: CONTENT, index: 0 },
    })
  } else if (Array.isArray(content)) {
    for (const [at, part] of objectsIn(content, format, path).entries()) {
      const place: ItemPosition = { message: index, shape: 'part', keys: [], index: at }
      found.push({ core: readPart(part, role, () => rawAt(reader, place)), place })
    }
  } else if (content !== undefined && content !== null) throw badInput(format, path, 'a string, an array or null')
  for (const [at, data] of ((hasImages && arrayOf(message['images'])) ?? []).entries()) {
    const media: Media = { type: 'image', data: stringOf(data) }
    found.push({
      core: { kind: 'media', text: '', media: [media] },
      place: { message: index, shape: 'image', keys: [], index: at },
    })
  }
}

function readReasoningFields({ reasoningKeys }: ChatReading, message: Fields, index: number, found: Found[]): void {
  const read = readReasoning(message, reasoningKeys)
  if (read === undefined) return
  const { keys, ...core } = read
  found.push({ core, place: { message: index, shape: 'fields', keys, index: 0 } })
}

/** What an assistant message says beside its content. */
function readAnswerFields(
  { format }: ChatReading,
  reader: Reader,
  message: Fields,
  index: number,
  found: Found[],
): void {
  const field = (key: string): ItemPosition => ({ message: index, shape: 'fields', keys: [key], index: 0 })
  const refusal = stringOf(message['refusal'])
  if (refusal) found.push({ core: { kind: 'assistant', text: refusal }, place: field('refusal') })
  const audio = recordOf(message['audio'])
  if (audio !== undefined) {
    // An answer in sound is sent back by its id: the vendor holds the bytes.
    const media: Media = { type: 'audio', reference: stringOf(audio['id']) }
    found.push({ core: { kind: 'media', text: '', sealed: true, media: [media] }, place: field('audio') })
  }
  const calls = message['tool_calls'] ?? []
  const path = `messages[${index}].tool_calls`
  if (!Array.isArray(calls)) throw badInput(format, path, 'an array')
  for (const [at, call] of objectsIn(calls, format, path).entries()) {
    const place: ItemPosition = { message: index, shape: 'call', keys: [], index: at }
    const core = readCall(call, () => rawArguments(member(reader.root.below(pathOf(place)), 'function')))
    if (core.callId !== undefined && core.toolName !== undefined) reader.toolNames.set(core.callId, core.toolName)
    found.push({ core, place })
  }
  const legacy = recordOf(message['function_call'])
  if (legacy !== undefined) {
    const place = field('function_call')
    found.push({ core: readCall({ function: legacy }, () => rawArguments(reader.root.below(pathOf(place)))), place })
  }
}

const rawArguments = (call: JsonNode | undefined): string => member(call, 'arguments')?.raw ?? ''

function readResult(message: Fields, toolNames: Pick<ToolNames, 'get'>): ItemCore {
  const callId = stringOf(message['tool_call_id'])
  const toolName = toolNames.get(callId ?? '') ?? stringOf(message['tool_name']) ?? stringOf(message['name'])
  return { kind: 'result', ...readResultContent(message['content']), callId, toolName }
}

function readTools({ root }: Reader): ToolDeclaration[] {
  return ['tools', 'functions'].flatMap((key) =>
    toolsUnder(root, key, FORMAT, (tool) => ({
      name: toolNameOf(tool),
      readAs: (tool['type'] ?? 'function') === 'function' ? declaredAs(tool) : undefined,
    })),
  )
}

/** The name that a declaration goes by: a function's, a custom tool's, or the type of a tool that the vendor runs. */
export function toolNameOf(tool: unknown): string {
  const fields = recordOf(tool) ?? {}
  const body = recordOf(fields['function']) ?? recordOf(fields['custom']) ?? fields
  return stringOf(body['name']) ?? stringOf(fields['type']) ?? ''
}

/** Members with which hosts put pages, documents or less than the whole history into the prompt. */
const ADDING_MEMBERS = ['web_search_options', 'data_sources', 'plugins', 'transforms', 'search_parameters']
const DECLARED_TYPES = new Set<unknown>(['function', 'custom', undefined])

function unseenIn(body: Fields): readonly string[] {
  const added = ADDING_MEMBERS.filter((key) => (body[key] ?? null) !== null)
  const tools = Array.isArray(body['tools']) ? body['tools'].map((tool) => recordOf(tool)?.['type']) : []
  const hosted = tools.filter((type) => !DECLARED_TYPES.has(type)).map(String)
  // Models that search the web by themselves are named for it.
  const searching = /(^|[-/:])(search|online|sonar|compound)($|[-:])/.test(stringOf(body['model']) ?? '')
    ? ['search']
    : []
  return [...added, ...hosted, ...searching]
}

function readSettings(body: Fields): RequestSettings {
  const reasoning = recordOf(body['reasoning'])
  const effort = body['reasoning_effort'] ?? reasoning?.['effort']
  const format = recordOf(body['response_format'])
  const unseen = unseenIn(body)
  const choice = body['tool_choice'] ?? body['function_call']
  return {
    unseen: unseen.length > 0 ? unseen : undefined,
    shapesAnswer: (format?.['type'] ?? 'text') !== 'text' ? true : undefined,
    forcesTool: choice === 'required' || recordOf(choice) !== undefined ? true : undefined,
    stream: body['stream'] === true,
    reasoning: (effort !== undefined && effort !== null && effort !== 'none') || reasoning !== undefined,
    model: stringOf(body['model']),
    answerSchema: responseFormatAs(recordOf(format?.['json_schema']) ?? {}),
    maxOutputTokens: numberOf(body['max_completion_tokens']) ?? numberOf(body['max_tokens']),
  }
}

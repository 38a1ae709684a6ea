import type { RequestSettings } from '../../core/conversation.ts'
import type { Item, Media, Role, ToolDeclaration } from '../../core/item.ts'
import { type Fields, listOf, numberOf, recordOf, stringOf } from '../../core/values.ts'
import { type BodyReading, type Decoder, decoder, type Position, type Reader } from '../kit/body.ts'
import { badInput, mediaTypeOf, objectsIn, placedItem, readUrl, toolsUnder } from '../kit/reading.ts'
import { declaredAs, responseFormatAs } from '../kit/tools.ts'

export const FORMAT = 'openai-chat'

/** Members that contain a client's cache mark. */
export const MARK_KEYS = ['cache_control', 'prompt_cache_breakpoint']

/**
 * The position of an item in its message. An assistant message has text, calls and reasoning in different members, and some vendors repeat the same
 * reasoning in several.
 */
export interface ItemPosition extends Position {
  readonly shape: 'message' | 'fields' | 'part' | 'image' | 'call'
  /** The members that contain it, for `fields`. */
  readonly keys: readonly string[]
}

/** Members for reasoning in OpenAI-compatible APIs: DeepSeek, vLLM, OpenRouter, LiteLLM. */
export const REASONING_KEYS: readonly string[] = [
  'reasoning_content',
  'reasoning',
  'reasoning_details',
  'thinking_blocks',
]

/** The list for each kind of element. */
const LISTS = { part: 'content', image: 'images', call: 'tool_calls' } as const

/** The path of the message for reasoning in several members. */
function pathOf({ message, shape, keys, index }: ItemPosition): (string | number)[] {
  if (shape === 'message' || keys.length > 1) return ['messages', message]
  return ['messages', message, ...(shape === 'fields' ? [keys[0]!] : [LISTS[shape], index])]
}

/** How to read the bodies of a wire with similar messages. */
interface ChatReading extends Pick<BodyReading<ItemPosition>, 'format' | 'markKeys' | 'readTools' | 'readSettings'> {
  readonly instructionRoles: readonly unknown[]
  readonly resultRoles: readonly unknown[]
  readonly reasoningKeys: readonly string[]
  /** Pictures are outside the content. */
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

/** Reads one content part; `raw` returns its JSON text. */
function readPart(part: Fields, role: Role, raw: () => string): ItemCore {
  const text = stringOf(part['text']) ?? stringOf(part['refusal'])
  const type = stringOf(part['type'])
  if (text !== undefined && (type === 'text' || type === 'refusal')) return { kind: kindOf(role), text }
  if (type === 'thinking') return { kind: 'reasoning', text: thinkingText(part['thinking']), sealed: true }
  const media = readMedia(part)
  if (media !== undefined) return { kind: 'media', text: '', media: [media] }
  return { kind: 'opaque', text: raw(), sealed: true }
}

export function kindOf(role: Role): 'instruction' | 'assistant' | 'user' {
  return role === 'system' ? 'instruction' : role === 'assistant' ? 'assistant' : 'user'
}

function readMedia(part: Fields): Media | undefined {
  const type = stringOf(part['type'])
  if (type === 'image_url') return { type: 'image', ...readUrl(urlOf(part['image_url'])) }
  if (type === 'video_url') return { type: 'video', ...readUrl(urlOf(part['video_url'])) }
  if (type === 'input_audio') return readAudio(part)
  return type === 'file' ? readFile(recordOf(part['file']) ?? {}) : undefined
}

/** Audio input, on both of OpenAI's wires. */
export function readAudio(part: Fields): Media {
  const audio = recordOf(part['input_audio']) ?? {}
  const format = stringOf(audio['format'])
  return { type: 'audio', mime: format === undefined ? undefined : `audio/${format}`, data: stringOf(audio['data']) }
}

/** The same for a file. */
export function readFile(file: Fields): Media {
  const payload = readUrl(stringOf(file['file_data']))
  return {
    type: mediaTypeOf(payload.mime),
    mime: payload.mime,
    // file_data without a `data:` prefix is the payload itself.
    data: payload.data ?? payload.reference,
    reference: stringOf(file['file_id']) ?? stringOf(file['file_url']),
    name: stringOf(file['filename']),
  }
}

/** Some vendors accept a URL string where OpenAI takes an object with a `url`. */
const urlOf = (value: unknown): string | undefined => stringOf(value) ?? stringOf(recordOf(value)?.['url'])

/** Mistral's thinking part contains text parts. */
function thinkingText(value: unknown): string {
  const texts = listOf(value).map((part) => stringOf(recordOf(part)?.['text']) ?? '')
  return stringOf(value) ?? texts.join('\n')
}

/** One entry of `tool_calls`. `rawArguments` returns the text of arguments that a vendor sends as an object. */
function readCall(call: Fields, rawArguments: () => string): ItemCore {
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

/** The reasoning of an assistant message, in any vendor's members. */
function readReasoning(
  message: Fields,
  members: readonly string[],
): (ItemCore & { readonly keys: readonly string[] }) | undefined {
  const keys = members.filter((key) => isReasoning(message[key]))
  if (keys.length === 0) return undefined
  const plain = keys.map((key) => stringOf(message[key])).find((text) => text !== undefined)
  const structured = keys.flatMap((key) => listOf(message[key]))
  const words = structured.map((value) => {
    const entry = recordOf(value) ?? {}
    return stringOf(entry['text']) ?? stringOf(entry['summary']) ?? stringOf(entry['thinking']) ?? ''
  })
  return {
    kind: 'reasoning',
    text: plain ?? words.filter((text) => text !== '').join('\n'),
    // Plain text may be omitted; entries may be signed or encrypted and must be sent back unchanged.
    sealed: keys.some((key) => typeof message[key] !== 'string') ? true : undefined,
    keys,
  }
}

const isReasoning = (value: unknown): boolean =>
  typeof value === 'string' ? value !== '' : Array.isArray(value) ? value.length > 0 : recordOf(value) !== undefined

/** The content of a tool message: its text, and the pictures that some vendors allow. */
function readResultContent(content: unknown): Pick<Item, 'text' | 'media'> {
  const plain = stringOf(content)
  if (plain !== undefined) return { text: plain }
  const parts = listOf(content).map((part) => recordOf(part) ?? {})
  const media = parts.map(readMedia).filter((part) => part !== undefined)
  const texts = parts.map((part) => stringOf(part['text'])).filter((text) => text !== undefined)
  return { text: texts.join('\n'), media: media.length > 0 ? media : undefined }
}

function readMessage(wire: ChatReading, { root, toolNames }: Reader, message: Fields, index: number): Item[] {
  const { format } = wire
  const { role } = message
  const path = `messages[${index}]`
  if (typeof role !== 'string') throw badInput(format, `${path}.role`, 'a string')
  const whole: ItemPosition = { message: index, shape: 'message', keys: [], index: 0 }
  const raw: Raw = (...keys) => root.below(['messages', index, ...keys])?.raw ?? ''
  if (wire.resultRoles.includes(role)) return [placedItem(format, whole, 0, 'tool', readResult(message, toolNames))]
  const isInstruction = wire.instructionRoles.includes(role)
  if (role !== 'user' && role !== 'assistant' && !isInstruction)
    return [placedItem(format, whole, 0, 'user', { kind: 'opaque', text: raw(), sealed: true })]
  const ours: Role = isInstruction ? 'system' : role === 'assistant' ? role : 'user'
  const { content } = message
  if (Array.isArray(content)) objectsIn(content, format, `${path}.content`)
  else if (typeof content !== 'string' && (content ?? null) !== null)
    throw badInput(format, `${path}.content`, 'a string, an array or null')
  const calls = ours === 'assistant' ? (message['tool_calls'] ?? []) : []
  if (!Array.isArray(calls)) throw badInput(format, `${path}.tool_calls`, 'an array')
  objectsIn(calls, format, `${path}.tool_calls`)
  const found = readParts(wire, message, ours, raw)
  for (const { core } of found) {
    const { kind, callId, toolName } = core
    if (kind === 'call' && callId !== undefined && toolName !== undefined) toolNames.set(callId, toolName)
  }
  // A message without content still gets an item, so that it can be dropped.
  if (found.length === 0) {
    const isText = typeof content === 'string'
    const place: ItemPosition = isText ? { ...whole, shape: 'fields', keys: ['content'] } : whole
    return [placedItem(format, place, 0, ours, { kind: kindOf(ours), text: '' })]
  }
  return found.map(({ core, shape, keys = [], at = 0 }, i) => {
    const place: ItemPosition = { message: index, shape, keys, index: at }
    return placedItem(format, place, i, ours, core)
  })
}

/** Returns the JSON text of a value in a message. */
export type Raw = (...keys: (string | number)[]) => string

interface Found {
  readonly core: ItemCore
  readonly shape: ItemPosition['shape']
  readonly keys?: readonly string[]
  readonly at?: number
}

/** The items of a request's or an answer's message, in the order in which the model reads them. */
export function readParts(
  { reasoningKeys, hasImages }: Pick<ChatReading, 'reasoningKeys' | 'hasImages'>,
  message: Fields,
  role: Role,
  raw: Raw,
): Found[] {
  const found: Found[] = []
  const field = (core: ItemCore, ...keys: string[]): void => void found.push({ core, shape: 'fields', keys })
  const reasoning = role === 'assistant' ? readReasoning(message, reasoningKeys) : undefined
  if (reasoning !== undefined) {
    const { keys, ...core } = reasoning
    field(core, ...keys)
  }
  const { content } = message
  // Clients use "" and null for the same thing.
  if (typeof content === 'string' && content !== '') field({ kind: kindOf(role), text: content }, 'content')
  for (const [at, part] of listOf(content).entries())
    found.push({ core: readPart(recordOf(part) ?? {}, role, () => raw('content', at)), shape: 'part', at })
  for (const [at, data] of (hasImages ? listOf(message['images']) : []).entries()) {
    const media: Media = { type: 'image', data: stringOf(data) }
    found.push({ core: { kind: 'media', text: '', media: [media] }, shape: 'image', at })
  }
  if (role !== 'assistant') return found
  const refusal = stringOf(message['refusal'])
  if (refusal) field({ kind: 'assistant', text: refusal }, 'refusal')
  const audio = recordOf(message['audio'])
  if (audio !== undefined) {
    // An audio answer is sent back by its id, because the vendor stores the bytes.
    const media: Media = { type: 'audio', reference: stringOf(audio['id']), data: stringOf(audio['data']) }
    field({ kind: 'media', text: stringOf(audio['transcript']) ?? '', sealed: true, media: [media] }, 'audio')
  }
  for (const [at, value] of listOf(message['tool_calls']).entries()) {
    const core = readCall(recordOf(value) ?? {}, () => raw('tool_calls', at, 'function', 'arguments'))
    found.push({ core, shape: 'call', at })
  }
  const legacy = recordOf(message['function_call'])
  if (legacy !== undefined)
    field(
      readCall({ function: legacy }, () => raw('function_call', 'arguments')),
      'function_call',
    )
  return found
}

function readResult(message: Fields, toolNames: ReadonlyMap<string, string>): ItemCore {
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

/** The name of a declaration: of a function or a custom tool, or the type of a tool that the vendor runs. */
export function toolNameOf(tool: unknown): string {
  const fields = recordOf(tool) ?? {}
  const body = recordOf(fields['function']) ?? recordOf(fields['custom']) ?? fields
  return stringOf(body['name']) ?? stringOf(fields['type']) ?? ''
}

/** Members by which hosts add pages or documents to the prompt, or remove parts of the history. */
const ADDING_MEMBERS = ['web_search_options', 'data_sources', 'plugins', 'transforms', 'search_parameters']
const DECLARED_TYPES = new Set<unknown>(['function', 'custom', undefined])

function unseenIn(body: Fields): readonly string[] {
  const added = ADDING_MEMBERS.filter((key) => (body[key] ?? null) !== null)
  const tools = Array.isArray(body['tools']) ? body['tools'].map((tool) => recordOf(tool)?.['type']) : []
  const hosted = tools.filter((type) => !DECLARED_TYPES.has(type)).map(String)
  // Models that search the web by themselves have it in their name.
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

import type { RequestSettings } from '../../core/conversation.ts'
import type { Item, Media, Role, ToolDeclaration } from '../../core/item.ts'
import { type Fields, numberOf, recordOf, stringOf } from '../../core/values.ts'
import { compactJson, type JsonMember, type JsonNode, member } from '../json/json-index.ts'
import { decoder, elementAt, type Position, type Reader } from '../kit/body.ts'
import { badInput, mediaTypeOf, objectsIn, placedItem } from '../kit/reading.ts'
import { isRecursiveSchema } from '../kit/tools.ts'

export const FORMAT = 'gemini'

/** The position of an item: a part of a content, or a content without parts. */
export interface ItemPosition extends Position {
  readonly shape: 'part' | 'content'
}

export const snakeCase = (key: string): string => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Google's servers accept `systemInstruction` and `system_instruction`; our code uses camel case. */
export function field(node: JsonNode | undefined, key: string): JsonNode | undefined {
  return fieldEntry(node, key)?.node
}

export function fieldEntry(node: JsonNode | undefined, key: string): JsonMember | undefined {
  return node?.entry(key) ?? node?.entry(snakeCase(key))
}

export function valueAt(fields: Fields | undefined, key: string): unknown {
  return fields?.[key] ?? fields?.[snakeCase(key)]
}

/** The request in a body: the body itself, or the member `request` that Code Assist wraps it in. */
export function requestIn(body: Fields): Fields {
  return body['contents'] === undefined ? (recordOf(body['request']) ?? body) : body
}

export function rootOf(body: JsonNode): JsonNode {
  const isWrapped = requestIn(body.value as Fields) !== body.value
  return isWrapped ? member(body, 'request')! : body
}

/** The elements of a list. Google's servers also accept a single object in place of a list. */
export function elementsOf(node: JsonNode | undefined): readonly JsonNode[] {
  if (node?.type === 'array') return node.items ?? []
  return node?.type === 'object' ? [node] : []
}

/** The same for a parsed value. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : recordOf(value) === undefined ? [] : [value]
}

const TELLING_KEYS = ['system_instruction', 'generation_config', 'tool_config', 'safety_settings', 'cached_content']

/** The name of a key that we add, in the case that the body uses. */
export function newKey(root: JsonNode, key: string): string {
  return TELLING_KEYS.some((telling) => member(root, telling) !== undefined) ? snakeCase(key) : key
}

export const body = decoder<ItemPosition>({
  format: FORMAT,
  // In the body itself, or in the request that Code Assist wrapped.
  listPath: (fields) => (requestIn(fields) === fields ? ['contents'] : ['request', 'contents']),
  messagesIn: (fields, from) => readList(requestIn(fields)['contents'], 'contents', from),
  pathOf,
  readMessage: readContent,
  readHead,
  readTools,
  readSettings,
})

export const { positionOf, nodeAt } = body

/** A single object in place of a list has no index. */
function pathOf({ shape, message, index }: ItemPosition, fields: Fields): (string | number)[] {
  const request = requestIn(fields)
  const { contents } = request
  const path = [...(request === fields ? [] : ['request']), 'contents', ...(Array.isArray(contents) ? [message] : [])]
  if (shape === 'content') return path
  const content = recordOf(listOf(contents)[message])
  return [...path, 'parts', ...(Array.isArray(content?.['parts']) ? [index] : [])]
}

export type ItemCore = Pick<Item, 'kind' | 'role' | 'text'> &
  Partial<Pick<Item, 'callId' | 'toolName' | 'isError' | 'serverSide' | 'sealed' | 'sealedCharacters' | 'media'>>

/** Returns the JSON text of a value in the part, as on the wire; without keys, of the part itself. */
export type Raw = (...keys: string[]) => string

export function readPart(part: Fields, role: Role, raw: Raw): ItemCore {
  const signed = valueAt(part, 'thoughtSignature') !== undefined
  const text = stringOf(part['text'])
  if (text !== undefined) return readText(part, text, role, signed)
  const inner = (key: string): Fields | undefined => recordOf(valueAt(part, key))
  const call = inner('functionCall')
  if (call !== undefined) {
    return {
      kind: 'call',
      role: 'assistant',
      text: call['args'] === undefined ? '{}' : raw('functionCall', 'args'),
      ...named(call),
      sealed: signed ? true : undefined,
      sealedCharacters: stringOf(valueAt(part, 'thoughtSignature'))?.length,
    }
  }
  const response = inner('functionResponse')
  if (response !== undefined) return readResponsePart(response, () => raw('functionResponse', 'response'))
  const server = readServerPart(part, raw)
  if (server !== undefined) return server
  const media = readMedia(part)
  if (media !== undefined) return { kind: 'media', role, text: '', media: [media], sealed: signed ? true : undefined }
  return { kind: 'opaque', role, text: raw(), sealed: true }
}

function readText(part: Fields, text: string, role: Role, signed: boolean): ItemCore {
  const sealed = signed ? ({ sealed: true } as const) : {}
  if (part['thought'] === true) return { kind: 'reasoning', role, text, ...sealed }
  // A stream may end with an empty text that only contains the signature of earlier thoughts.
  if (text === '' && signed) return { kind: 'reasoning', role, text, sealed: true }
  return { kind: role === 'assistant' ? 'assistant' : 'user', role, text }
}

const named = (fields: Fields): { callId: string | undefined; toolName: string | undefined } => ({
  callId: stringOf(fields['id']),
  toolName: stringOf(fields['name']),
})

/** A response is an object; if its only member is a string, the model reads that string. */
function readResponsePart(response: Fields, raw: () => string): ItemCore {
  const body = recordOf(response['response'])
  const key = textKeyOf(body)
  const media = listOf(response['parts']).map((part) => readMedia(recordOf(part) ?? {}))
  const found = media.filter((part) => part !== undefined)
  return {
    kind: 'result',
    role: 'tool',
    text: key !== undefined ? String(body![key]) : body === undefined ? '' : compactJson(raw()),
    ...named(response),
    isError: key === 'error' ? true : undefined,
    media: found.length > 0 ? found : undefined,
  }
}

/** The key of a response's only member, if that is a string. */
export function textKeyOf(response: Fields | undefined): string | undefined {
  const keys = Object.keys(response ?? {})
  const [key] = keys
  return keys.length === 1 && typeof response![key!] === 'string' ? key : undefined
}

/** Tools that Google runs: code execution, and the calls and responses of others. */
function readServerPart(part: Fields, raw: Raw): ItemCore | undefined {
  const ours = { role: 'assistant', serverSide: true, sealed: true } as const
  const code = recordOf(valueAt(part, 'executableCode'))
  if (code !== undefined) {
    const text = stringOf(code['code']) ?? ''
    return { kind: 'call', ...ours, text, callId: stringOf(code['id']), toolName: 'code_execution' }
  }
  const outcome = recordOf(valueAt(part, 'codeExecutionResult'))
  if (outcome !== undefined) {
    return {
      kind: 'result',
      ...ours,
      text: stringOf(outcome['output']) ?? '',
      callId: stringOf(outcome['id']),
      toolName: 'code_execution',
      isError: outcome['outcome'] === 'OUTCOME_OK' ? undefined : true,
    }
  }
  for (const [key, kind, says] of [
    ['toolCall', 'call', 'args'],
    ['toolResponse', 'result', 'response'],
  ] as const) {
    const fields = recordOf(valueAt(part, key))
    if (fields === undefined) continue
    const toolName = stringOf(valueAt(fields, 'toolType'))
    const text = fields[says] === undefined ? '{}' : raw(key, says)
    return { kind, ...ours, text, callId: stringOf(fields['id']), toolName }
  }
  return undefined
}

function readMedia(part: Fields): Media | undefined {
  const inline = recordOf(valueAt(part, 'inlineData'))
  const file = recordOf(valueAt(part, 'fileData'))
  const fields = inline ?? file
  if (fields === undefined) return undefined
  const mime = stringOf(valueAt(fields, 'mimeType'))
  return {
    type: mediaTypeOf(mime),
    mime,
    data: stringOf(inline?.['data']),
    reference: stringOf(valueAt(file, 'fileUri')),
    name: stringOf(valueAt(fields, 'displayName')),
  }
}

function readList(value: unknown, path: string, from = 0): readonly Fields[] {
  if (typeof value !== 'object' || value === null) throw badInput(FORMAT, path, 'an array')
  return objectsIn(listOf(value), FORMAT, path, from)
}

function readHead({ root }: Reader, fields: Fields): Item[] {
  const system = valueAt(requestIn(fields), 'systemInstruction')
  if (system === undefined || system === null) return []
  const parts = listOf(recordOf(system)?.['parts'])
  const raw = (index: number): string => {
    const node = field(rootOf(root), 'systemInstruction')!
    return (elementAt(field(node, 'parts'), index) ?? node).raw
  }
  return (parts.length > 0 ? parts : [system]).map((part, index) => ({
    id: `s${index}`,
    kind: 'instruction',
    role: 'system',
    text: stringOf(part) ?? stringOf(recordOf(part)?.['text']) ?? raw(index),
    message: -1,
  }))
}

const placed = (at: number, core: ItemCore, place: ItemPosition): Item => placedItem(FORMAT, place, at, core.role, core)

function readContent({ root, toolNames }: Reader, content: Fields, index: number): readonly Item[] {
  const role: Role = content['role'] === 'model' ? 'assistant' : 'user'
  const parts = readList(content['parts'] ?? [], `contents[${index}].parts`)
  if (parts.length === 0) {
    // A content without text still gets an item, so that it can be dropped.
    const kind = role === 'assistant' ? 'assistant' : 'user'
    return [placed(0, { kind, role, text: '' }, { shape: 'content', message: index, index: 0 })]
  }
  const items = parts.map((part, at) => {
    const place: ItemPosition = { shape: 'part', message: index, index: at }
    const core = readPart(part, role, (...keys) => rawAt(root, pathOf(place, root.value as Fields), part, keys))
    return placed(at, core, place)
  })
  return withToolNames(items, toolNames)
}

/** Takes keys in camel case and uses the case in which the body has them. */
function rawAt(root: JsonNode, place: readonly (string | number)[], part: Fields, keys: readonly string[]): string {
  const path = [...place]
  let fields: Fields | undefined = part
  for (const key of keys) {
    const own: string = fields?.[key] === undefined ? snakeCase(key) : key
    path.push(own)
    fields = recordOf(fields?.[own])
  }
  return root.below(path)?.raw ?? ''
}

/** Adds the tool's name to results whose client omitted it, by the id of the call. */
function withToolNames(items: readonly Item[], names: Map<string, string>): readonly Item[] {
  return items.map((item) => {
    if (item.callId === undefined) return item
    if (item.kind === 'call' && item.toolName !== undefined) names.set(item.callId, item.toolName)
    const known = names.get(item.callId)
    return item.kind === 'result' && item.toolName === undefined && known !== undefined
      ? { ...item, toolName: known }
      : item
  })
}

function readTools({ root }: Reader, body: Fields): ToolDeclaration[] {
  if (listOf(requestIn(body)['tools']).length === 0) return []
  return elementsOf(field(rootOf(root), 'tools')).flatMap((tool) => {
    const functions = elementsOf(field(tool, 'functionDeclarations')).map((node) => ({
      name: stringOf(recordOf(node.value)?.['name']) ?? '',
      text: node.raw,
      isRecursive: takesItself(recordOf(node.value)) ? true : undefined,
    }))
    return [...functions, ...serverTools(tool).map((name) => ({ name, text: tool.raw }))]
  })
}

const PARAMETERS = ['parametersJsonSchema', 'parameters_json_schema', 'parameters']

const takesItself = (declared: Fields | undefined): boolean =>
  PARAMETERS.some((name) => isRecursiveSchema(declared?.[name]))

/** Tools that Google runs are members of a tool object, with or without functions. */
export function serverTools(tool: JsonNode): string[] {
  const keys = (tool.members ?? []).map((entry) => entry.key)
  return keys.filter((key) => key !== 'functionDeclarations' && key !== 'function_declarations')
}

function unseenIn(body: JsonNode, request: Fields): readonly string[] {
  const held = (valueAt(request, 'cachedContent') ?? null) === null ? [] : ['cachedContent']
  return [...held, ...elementsOf(field(rootOf(body), 'tools')).flatMap(serverTools)]
}

function readSettings(body: Fields, root: JsonNode): RequestSettings {
  const request = requestIn(body)
  const config = recordOf(valueAt(request, 'generationConfig'))
  const thinking = recordOf(valueAt(config, 'thinkingConfig'))
  const model = stringOf(body['model']) ?? stringOf(request['model'])
  const mime = stringOf(valueAt(config, 'responseMimeType')) ?? 'text/plain'
  const unseen = unseenIn(root, request)
  return {
    unseen: unseen.length > 0 ? unseen : undefined,
    shapesAnswer: mime !== 'text/plain' ? true : undefined,
    // On this wire, the URL says whether to stream.
    stream: false,
    reasoning: thinking !== undefined && valueAt(thinking, 'thinkingBudget') !== 0,
    model: model?.replace(/^models\//, ''),
    maxOutputTokens: numberOf(valueAt(config, 'maxOutputTokens')),
  }
}

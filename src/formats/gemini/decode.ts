import type { Conversation, RequestSettings } from '../../core/conversation.ts'
import type { Item, Role, ToolDeclaration } from '../../core/item.ts'
import { bytesOf, indexGrown, rawText, type JsonNode } from '../json/json-index.ts'
import { type Fields, numberOf, recordOf, stringOf } from '../../core/values.ts'
import { itemsBehindHead } from '../kit/grown-items.ts'
import { placedItem } from '../kit/placed-item.ts'
import { badInput, defined, objectsIn } from '../kit/reading.ts'
import { isRecursiveSchema } from '../kit/recursive-schema.ts'
import { toolNamesIn, type ToolNames } from '../kit/tool-names.ts'
import { readPart, type ItemCore } from './read-part.ts'
import {
  contentAt,
  elementAt,
  elementsOf,
  field,
  FORMAT,
  listOf,
  requestIn,
  rootOf,
  snakeCase,
  sourceOf,
  valueAt,
  type Place,
  type Source,
} from './source.ts'

export function decode(text: string, before?: Conversation): Conversation {
  const known = before?.format === FORMAT ? sourceOf(before) : undefined
  const {
    root: body,
    kept,
    from,
  } = indexGrown(text, known && { text: known.text, root: known.body }, contentsPath(known))
  const fields = recordOf(body.value)
  if (fields === undefined) throw badInput(FORMAT, 'the body', 'an object')
  // What was added may be another list that counts in the place of the one before.
  if (kept > 0 && isWrapped(body) !== isWrapped(known!.body)) return decode(text)
  const request = requestIn(fields)
  const contents = readList(request['contents'], 'contents', kept)
  const itemsOf = known?.itemsOf.slice(0, kept) ?? []
  const toolNames = toolNamesIn(itemsOf)
  for (let index = kept; index < contents.length; index++)
    itemsOf.push(withToolNames(readContent(body, contents[index]!, index), toolNames))
  const items = itemsBehindHead(itemsOf, 0, known, kept)
  const bytes = bytesOf(text, known, from)
  const source: Source = { text, bytes, body, items, itemsOf }
  return {
    format: FORMAT,
    head: readSystem(text, body, valueAt(request, 'systemInstruction')),
    items,
    tools: readTools(text, body, request['tools']),
    settings: readSettings(body, fields, request),
    bytes,
    source: { format: FORMAT, value: source },
  }
}

/** Where the list stood in an earlier body: directly in it, or in the request that Code Assist wrapped. */
function contentsPath(known: Source | undefined): readonly string[] {
  return known !== undefined && isWrapped(known.body) ? ['request', 'contents'] : ['contents']
}

const isWrapped = (body: JsonNode): boolean => rootOf(body) !== body

function readList(value: unknown, path: string, from = 0): readonly Fields[] {
  if (typeof value !== 'object' || value === null) throw badInput(FORMAT, path, 'an array')
  return objectsIn(listOf(value), FORMAT, path, from)
}

function readSystem(text: string, body: JsonNode, system: unknown): Item[] {
  if (system === undefined || system === null) return []
  const parts = listOf(recordOf(system)?.['parts'])
  const raw = (index: number): string => {
    const node = field(rootOf(body), 'systemInstruction')!
    return rawText(text, elementAt(field(node, 'parts'), index) ?? node)
  }
  return (parts.length > 0 ? parts : [system]).map((part, index) => ({
    id: `s${index}`,
    kind: 'instruction',
    role: 'system',
    text: stringOf(part) ?? stringOf(recordOf(part)?.['text']) ?? raw(index),
    message: -1,
  }))
}

const placed = (at: number, core: ItemCore, place: Place): Item => placedItem(FORMAT, place, at, core.role, core)

function readContent(body: JsonNode, content: Fields, index: number): Item[] {
  const role: Role = content['role'] === 'model' ? 'assistant' : 'user'
  const parts = readList(content['parts'] ?? [], `contents[${index}].parts`)
  if (parts.length === 0) {
    // A content that says nothing is still there: one item stands for it, so that it can be dropped.
    const kind = role === 'assistant' ? 'assistant' : 'user'
    return [placed(0, { kind, role, text: '' }, { shape: 'content', message: index, index: 0 })]
  }
  return parts.map((part, at) => {
    const place: Place = { shape: 'part', message: index, index: at }
    const core = readPart(part, role, (...keys) => rawAt(contentAt(body, index)!, part, at, keys))
    return placed(at, core, place)
  })
}

/** Keys come in camel case; the part's own fields say which case the body uses. */
function rawAt(content: JsonNode, part: Fields, at: number, keys: readonly string[]): string {
  const path: (string | number)[] = Array.isArray((content.value as Fields)['parts']) ? ['parts', at] : ['parts']
  let fields: Fields | undefined = part
  for (const key of keys) {
    const own: string = fields?.[key] === undefined ? snakeCase(key) : key
    path.push(own)
    fields = recordOf(fields?.[own])
  }
  return content.rawAt(path) ?? ''
}

/** Results name their tool; where a client leaves that out, the call's id knows it. */
function withToolNames(items: readonly Item[], names: ToolNames): readonly Item[] {
  return items.map((item) => {
    if (item.callId === undefined) return item
    if (item.kind === 'call' && item.toolName !== undefined) names.set(item.callId, item.toolName)
    const known = names.get(item.callId)
    return item.kind === 'result' && item.toolName === undefined && known !== undefined
      ? { ...item, toolName: known }
      : item
  })
}

function readTools(text: string, body: JsonNode, tools: unknown): ToolDeclaration[] {
  if (listOf(tools).length === 0) return []
  return elementsOf(field(rootOf(body), 'tools')).flatMap((tool) => {
    const functions = elementsOf(field(tool, 'functionDeclarations')).map((node) => ({
      name: stringOf(recordOf(node.value)?.['name']) ?? '',
      text: rawText(text, node),
      ...(takesItself(recordOf(node.value)) && { isRecursive: true as const }),
    }))
    return [...functions, ...serverTools(tool).map((name) => ({ name, text: rawText(text, tool) }))]
  })
}

const PARAMETERS = ['parametersJsonSchema', 'parameters_json_schema', 'parameters']

const takesItself = (declared: Fields | undefined): boolean =>
  PARAMETERS.some((name) => isRecursiveSchema(declared?.[name]))

/** Tools that Google runs are members of a tool object, beside the functions or without them. */
export function serverTools(tool: JsonNode): string[] {
  const keys = (tool.members ?? []).map((entry) => entry.key)
  return keys.filter((key) => key !== 'functionDeclarations' && key !== 'function_declarations')
}

function unseenIn(body: JsonNode, request: Fields): readonly string[] {
  const held = (valueAt(request, 'cachedContent') ?? null) === null ? [] : ['cachedContent']
  return [...held, ...elementsOf(field(rootOf(body), 'tools')).flatMap(serverTools)]
}

function readSettings(node: JsonNode, body: Fields, request: Fields): RequestSettings {
  const config = recordOf(valueAt(request, 'generationConfig'))
  const thinking = recordOf(valueAt(config, 'thinkingConfig'))
  const model = stringOf(body['model']) ?? stringOf(request['model'])
  const mime = stringOf(valueAt(config, 'responseMimeType')) ?? 'text/plain'
  const unseen = unseenIn(node, request)
  return {
    ...(unseen.length > 0 && { unseen }),
    ...(mime !== 'text/plain' && { shapesAnswer: true as const }),
    // The URL says whether this wire streams.
    stream: false,
    reasoning: thinking !== undefined && valueAt(thinking, 'thinkingBudget') !== 0,
    ...defined({
      model: model?.replace(/^models\//, ''),
      maxOutputTokens: numberOf(valueAt(config, 'maxOutputTokens')),
    }),
  }
}

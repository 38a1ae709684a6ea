import type { Conversation, RequestSettings } from '../../core/conversation.ts'
import type { Item, Role, ToolDeclaration } from '../../core/item.ts'
import { placesOf } from '../kit/cache-marks.ts'
import { bytesOf, indexGrown, isWrittenAlike, member, rawText, type JsonNode } from '../json/json-index.ts'
import { type Fields, numberOf, recordOf, stringOf } from '../../core/values.ts'
import { headOf, itemsBehindHead } from '../kit/grown-items.ts'
import { placedItem } from '../kit/placed-item.ts'
import { badInput, defined, objectsIn } from '../kit/reading.ts'
import { kindOf, readItem, readPart, type RoledCore } from './items.ts'
import { toolNamesIn, type ToolNames } from '../kit/tool-names.ts'
import { declaredAs, responseFormatAs } from '../kit/tool-namespace.ts'
import { FORMAT, MARK_KEYS, nodeAt, sourceOf, typeOf, type Place, type Source } from './source.ts'

export function decode(text: string, before?: Conversation): Conversation {
  const known = before?.format === FORMAT ? sourceOf(before) : undefined
  const { root, kept, from } = indexGrown(text, known, ['input'])
  const body = recordOf(root.value)
  if (body === undefined) throw badInput(FORMAT, 'the body', 'an object')
  const input = readInputList(body['input'], kept)
  const firstOther = input.findIndex((fields) => !isInstruction(fields))
  const headCount = firstOther < 0 ? input.length : firstOther
  const itemsOf = known?.itemsOf.slice(0, kept) ?? []
  const reader: Reader = { text, root, toolNames: toolNamesIn(itemsOf) }
  for (let index = kept; index < input.length; index++) itemsOf.push(readElement(reader, input[index]!, index))
  // A text in the place of the list, or the list.
  const items = input.length === 0 ? readInputText(body['input']) : itemsBehindHead(itemsOf, headCount, known, kept)
  const bytes = bytesOf(text, known, from)
  const marks = placesOf(text, MARK_KEYS, known?.marks, from)
  const source: Source = { text, bytes, root, marks, headCount, items, itemsOf }
  return {
    format: FORMAT,
    head: [...readInstructions(reader, body['instructions']), ...headOf(itemsOf, headCount)],
    items,
    tools: kept > 0 && isWrittenAlike(source, known!, ['tools']) ? before!.tools : readTools(reader, body['tools']),
    settings: readSettings(body),
    bytes,
    source: { format: FORMAT, value: source },
  }
}

/** What reading an element needs beside the element. */
interface Reader {
  readonly text: string
  readonly root: JsonNode
  /** Names by call id: most results do not carry them. */
  readonly toolNames: ToolNames
}

function readInputList(input: unknown, from: number): readonly Fields[] {
  if (input === undefined || input === null || typeof input === 'string') return []
  if (!Array.isArray(input)) throw badInput(FORMAT, 'input', 'a string or an array')
  return objectsIn(input, FORMAT, 'input', from)
}

function readInputText(input: unknown): Item[] {
  if (typeof input !== 'string') return []
  return [placed(0, { kind: 'user', role: 'user', text: input }, { shape: 'input', message: 0, index: 0 })]
}

const isInstruction = (fields: Fields): boolean =>
  typeOf(fields) === 'message' && (fields['role'] === 'system' || fields['role'] === 'developer')

function readInstructions({ text, root }: Reader, instructions: unknown): Item[] {
  if (instructions === undefined || instructions === null) return []
  const words = stringOf(instructions) ?? rawText(text, member(root, 'instructions')!)
  return [{ id: 'instructions', kind: 'instruction', role: 'system', text: words, message: -1 }]
}

const placed = (at: number, core: RoledCore, place: Place): Item => placedItem(FORMAT, place, at, core.role, core)

function readElement(reader: Reader, fields: Fields, index: number): Item[] {
  const { text, root, toolNames } = reader
  if (typeOf(fields) === 'message') return readMessage(reader, fields, index)
  const place: Place = { shape: 'item', message: index, index: 0 }
  const core = readItem(fields, (key) => {
    const node = nodeAt(root, place)
    const found = key === undefined ? node : member(node, key)
    return found === undefined ? '' : rawText(text, found)
  })
  if (core.kind === 'call' && core.callId !== undefined && core.toolName !== undefined)
    toolNames.set(core.callId, core.toolName)
  const known = core.kind === 'result' ? toolNames.get(core.callId ?? '') : undefined
  return [placed(0, known === undefined ? core : { ...core, toolName: known }, place)]
}

function readMessage({ text, root }: Reader, fields: Fields, index: number): Item[] {
  const path = `input[${index}].content`
  const role = roleOf(fields['role'])
  const whole: Place = { shape: 'item', message: index, index: 0 }
  if (role === undefined) {
    return [placed(0, { kind: 'opaque', role: 'user', text: rawText(text, nodeAt(root, whole)), sealed: true }, whole)]
  }
  const content = fields['content'] ?? []
  const say = (words: string): RoledCore => ({ kind: kindOf(role), role, text: words })
  if (typeof content === 'string') return [placed(0, say(content), { shape: 'content', message: index, index: 0 })]
  if (!Array.isArray(content)) throw badInput(FORMAT, path, 'a string or an array')
  // A message that says nothing is still there: one item stands for it, so that it can be dropped.
  if (content.length === 0) return [placed(0, say(''), whole)]
  return objectsIn(content, FORMAT, path).map((part, at) => {
    const place: Place = { shape: 'part', message: index, index: at }
    return placed(
      at,
      readPart(part, role, () => rawText(text, nodeAt(root, place))),
      place,
    )
  })
}

function roleOf(role: unknown): Role | undefined {
  if (role === 'user' || role === 'assistant') return role
  return role === 'system' || role === 'developer' ? 'system' : undefined
}

function readTools({ text, root }: Reader, tools: unknown): ToolDeclaration[] {
  if (tools === undefined || tools === null) return []
  if (!Array.isArray(tools)) throw badInput(FORMAT, 'tools', 'an array')
  const nodes = member(root, 'tools')!.items!
  return objectsIn(tools, FORMAT, 'tools').map((tool, i) => ({
    name: toolNameOf(tool),
    text: rawText(text, nodes[i]!),
    ...(tool['type'] === 'function' && { readAs: declaredAs(tool) }),
  }))
}

/** The name that a declaration or a choice goes by: its own, an MCP server's, or the type of a tool that OpenAI runs. */
export function toolNameOf(tool: unknown): string {
  const fields = recordOf(tool) ?? {}
  return stringOf(fields['name']) ?? stringOf(fields['server_label']) ?? stringOf(fields['type']) ?? ''
}

const forcesTool = (choice: unknown): boolean => choice === 'required' || recordOf(choice)?.['name'] !== undefined

/** Tools whose declarations stand in the body as a whole; any other is OpenAI's to run or to describe. */
const DECLARED_TYPES = new Set<unknown>(['function', 'custom', undefined])

function unseenIn(body: Fields): readonly string[] {
  const held = ['previous_response_id', 'conversation', 'prompt'].filter((key) => (body[key] ?? null) !== null)
  const tools = Array.isArray(body['tools']) ? body['tools'].map((tool) => recordOf(tool)?.['type']) : []
  const cuts = body['truncation'] === 'auto' ? ['truncation'] : []
  // In pro mode several runs that the body does not show are counted as one prompt.
  const runs = recordOf(body['reasoning'])?.['mode'] === 'pro' ? ['reasoning mode pro'] : []
  return [...held, ...cuts, ...runs, ...tools.filter((type) => !DECLARED_TYPES.has(type)).map(String)]
}

function readSettings(body: Fields): RequestSettings {
  const reasoning = recordOf(body['reasoning'])
  const conversation = body['conversation']
  const format = recordOf(recordOf(body['text'])?.['format']) ?? {}
  const unseen = unseenIn(body)
  return {
    ...(unseen.length > 0 && { unseen }),
    ...((format['type'] ?? 'text') !== 'text' && { shapesAnswer: true as const }),
    ...(forcesTool(body['tool_choice']) && { forcesTool: true as const }),
    stream: body['stream'] === true,
    reasoning: reasoning !== undefined && reasoning['effort'] !== 'none',
    ...defined({
      model: stringOf(body['model']),
      maxOutputTokens: numberOf(body['max_output_tokens']),
      previousResponseId: stringOf(body['previous_response_id']),
      answerSchema: responseFormatAs(format),
      conversationId: stringOf(conversation) ?? stringOf(recordOf(conversation)?.['id']),
    }),
  }
}

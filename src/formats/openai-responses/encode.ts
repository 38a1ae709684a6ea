import type { ProviderHistory } from '../../core/codec.ts'
import type { Conversation, EnvelopeChanges, NewTool } from '../../core/conversation.ts'
import type { Item, Media } from '../../core/item.ts'
import { listOf, type Fields, recordOf, stringOf, isRecord, parsedJson } from '../../core/values.ts'
import { type JsonNode, member } from '../json/json-index.ts'
import { type Splice, spliceMember, spliceMembers, spliceText } from '../json/splice.ts'
import {
  elementSplices,
  encoder,
  type Envelope,
  isReplaced,
  type Members,
  type Source,
  sourceOf,
  toolSplices,
  type ToolWords,
  withInstruction,
  type Written,
} from '../kit/body.ts'
import { type CacheMark, groupByMessage, markJson, objectJson, sealedError, writeRestored } from '../kit/editing.ts'
import { arrayOf, dataUrl } from '../kit/reading.ts'
import { type Draft, type DraftTurn, filled, isWebUrl, openaiChoice } from '../kit/writing.ts'
import { body, type ItemPosition, nodeAt, positionOf, toolNameOf, typeOf } from './decode.ts'

export const encode = encoder<ItemPosition>({
  body,
  write,
  envelope,
  inserted: writeMessage,
  within: (source, message, kept, marks) =>
    elementSplices(
      { body, edit: (own, item, mark) => [editSplice(own, item, mark)] },
      source,
      member(message, 'content'),
      kept,
      marks,
    ),
  // Only input parts can have a mark, and opaque ones must not change.
  mayCarry: (item, place) => (place?.shape ?? 'part') === 'part' && item.sealed !== true && item.role !== 'assistant',
  writeText: stringInputSplices,
})

/** An edit replaces only its own field; marks, ids and unknown keys stay unchanged. */
function editSplice({ root }: Source, item: Item, mark?: CacheMark): Splice {
  const place = positionOf(item)!
  const { shape } = place
  const node = nodeAt(root, place)
  const json = JSON.stringify(item.text)
  if (item.sealed === true && item.kind !== 'opaque') throw sealedError(item)
  if (shape === 'input' || shape === 'content') return { start: node.start, end: node.end, text: json }
  if (shape === 'part') return partSplice(item, node, json, mark)
  if (item.kind === 'call') return callSplice(node, item)
  if (item.kind === 'result') return resultSplice(node, json)
  if (item.kind === 'opaque') {
    // The opaque item is replaced by a plain message.
    const role = item.role === 'system' ? 'developer' : item.role === 'user' ? 'user' : 'assistant'
    return { start: node.start, end: node.end, text: `{"role":"${role}","content":${json}}` }
  }
  return spliceMember(node, 'content', json)
}

function partSplice(item: Item, node: JsonNode, json: string, mark: CacheMark | undefined): Splice {
  if (!isReplaced(item)) {
    return spliceMember(node, member(node, 'refusal') === undefined ? 'text' : 'refusal', json)
  }
  const key = 'prompt_cache_breakpoint'
  const own = member(node, key)
  const kept = markJson(own === undefined ? mark : { key, json: own.raw })
  const part =
    item.role === 'assistant'
      ? `{"type":"output_text","text":${json},"annotations":[]}`
      : `{"type":"input_text","text":${json}${kept}}`
  return { start: node.start, end: node.end, text: part }
}

/** Calls whose input is an object: its member, and the field in it that plain text replaces. */
const STRUCTURED: Readonly<Record<string, { readonly key: string; readonly inner: string; readonly isList: boolean }>> =
  {
    local_shell_call: { key: 'action', inner: 'command', isList: true },
    shell_call: { key: 'action', inner: 'commands', isList: true },
    apply_patch_call: { key: 'operation', inner: 'diff', isList: false },
  }

function callSplice(node: JsonNode, item: Item): Splice {
  const type = typeOf(node.value as Record<string, unknown>)
  if (type === 'function_call') return spliceMember(node, 'arguments', JSON.stringify(objectJson(item.text)))
  if (type === 'custom_tool_call') return spliceMember(node, 'input', JSON.stringify(item.text))
  if (type === 'tool_search_call') return spliceMember(node, 'arguments', objectJson(item.text))
  const structured = STRUCTURED[type]
  const whole = structured === undefined ? undefined : member(node, structured.key)
  if (structured === undefined || whole === undefined) throw sealedError(item)
  if (isRecord(parsedJson(item.text))) return spliceMember(node, structured.key, item.text)
  return spliceMember(whole, structured.inner, JSON.stringify(structured.isList ? [item.text] : item.text))
}

function resultSplice(node: JsonNode, json: string): Splice {
  if (typeOf(node.value as Record<string, unknown>) !== 'shell_call_output') return spliceMember(node, 'output', json)
  // A shell's output is a list of runs; the outcome of the first one stays true.
  const outcome = member(member(node, 'output')?.items?.[0], 'outcome')
  const ended = outcome === undefined ? '{"type":"exit","exit_code":0}' : outcome.raw
  return spliceMember(node, 'output', `[{"stdout":${json},"stderr":"","outcome":${ended}}]`)
}

/** The models that can say why their cache was not read; the others refuse the option. */
const DIAGNOSED = /gpt-(?:5[.-](?:[6-9]|\d\d)(?!\d)|[6-9])/

function envelope(changes: EnvelopeChanges, source: Source): Envelope {
  const { root } = source
  const members: Members = new Map()
  if (changes.maxOutputTokens !== undefined) members.set('max_output_tokens', String(changes.maxOutputTokens))
  const { compactAtTokens } = changes.native ?? {}
  // Not set if the client manages its context itself.
  if (compactAtTokens !== undefined && (member(root, 'context_management')?.value ?? null) === null)
    members.set('context_management', `[{"type":"compaction","compact_threshold":${compactAtTokens}}]`)
  const { diagnose = null } = changes
  const options = recordOf(member(root, 'prompt_cache_options')?.value)
  if (diagnose !== null && DIAGNOSED.test(String(member(root, 'model')?.value)) && !options?.['comparison_response_id'])
    members.set('prompt_cache_options', JSON.stringify({ ...options, comparison_response_id: diagnose }))
  if (changes.addInstruction !== undefined)
    members.set('instructions', withInstruction(member(root, 'instructions')?.value, changes.addInstruction))
  const splices = toolSplices(source, changes, members, TOOL_WORDS)
  return { splices: [...splices, ...spliceMembers(root, members)] }
}

const TOOL_WORDS: ToolWords = {
  key: 'tools',
  nameOf: toolNameOf,
  declare,
  choiceKey: 'tool_choice',
  none: '"none"',
  auto: '"auto"',
  choiceNames,
}

/** The tools that a choice names: the forced one, or the list of allowed ones. */
function choiceNames(choice: unknown): string[] {
  const fields = recordOf(choice)
  if (fields === undefined) return []
  return (arrayOf(fields['tools']) ?? [fields]).map(toolNameOf)
}

/** Items that refer to content that the provider holds, or that replace earlier items. */
const NOT_REPEATABLE = new Set(['item_reference', 'compaction', 'compaction_trigger'])

export const providerHistory: ProviderHistory = {
  isKept: (conversation) => body.fields(conversation)['store'] !== false,
  itemsOf(conversation) {
    const { root } = sourceOf(conversation)
    const input = member(root, 'input')
    if (input === undefined || input.value === null) return []
    if (typeof input.value === 'string') return [`{"role":"user","content":${input.raw}}`]
    const elements = input.items ?? []
    return elements.every(({ value }) => isRepeatable(value)) ? elements.map((node) => node.raw) : undefined
  },
  writeOut(conversation, earlier) {
    const { text, root } = sourceOf(conversation)
    const own = providerHistory.itemsOf(conversation)
    if (own === undefined) return undefined
    const members = new Map([
      ['previous_response_id', undefined],
      ['input', `[${[...earlier, ...own].join(',')}]`],
    ])
    return spliceText(text, spliceMembers(root, members))
  },
}

function isRepeatable(value: unknown): boolean {
  const fields = recordOf(value) ?? {}
  const type = typeOf(fields)
  return type === 'reasoning'
    ? (stringOf(fields['encrypted_content']) ?? '') !== ''
    : type !== '' && !NOT_REPEATABLE.has(type)
}

/** The items of an answer in the form of a request; undefined if one cannot be repeated, or the answer is still being made. */
export function repeatable(response: Readonly<Record<string, unknown>>): readonly string[] | undefined {
  const { status } = response
  if (status !== 'completed' && status !== 'incomplete') return undefined
  const output = listOf(response['output'])
  return output.every(isRepeatable) ? output.map((item) => JSON.stringify(item)) : undefined
}

/** An input that is a string or absent becomes a list when it gets any other item. */
function stringInputSplices({ items }: Conversation, source: Source): Splice[] {
  const list = member(source.root, 'input')
  const [first] = items
  const isWhole = items.length === 1 && first !== undefined && positionOf(first) !== undefined
  if (isWhole) return first.edited === true ? [editSplice(source, first)] : []
  if (items.length === 0 && (list === undefined || list.value === null)) return []
  const messages = groupByMessage(items, (item) => positionOf(item) !== undefined).map((message) => {
    if (message.own === undefined)
      return 'restored' in message ? writeRestored(encode, message.restored) : writeMessage(message.inserted)
    const [item] = message.kept
    return item?.edited === true ? writeMessage(item) : `{"role":"user","content":${list!.raw}}`
  })
  return [spliceMember(source.root, 'input', `[${messages.join(',')}]`)]
}

function writeMessage(item: Item, mark?: CacheMark): string {
  const text = JSON.stringify(item.text)
  const content = mark === undefined ? text : `[{"type":"input_text","text":${text}${markJson(mark)}}]`
  return `{"role":"${item.role === 'assistant' ? 'assistant' : 'user'}","content":${content}}`
}

export interface DeclaredTool {
  type: 'function'
  name: string
  description: string
  parameters: Record<string, unknown>
  strict: false
}

/** On this wire the default of `strict` is true, and a strict schema must list every property as required. */
export function declare({ name, description, parameters }: NewTool): DeclaredTool {
  return {
    type: 'function',
    name,
    description,
    parameters: { ...parameters },
    strict: false,
  }
}

export function write(draft: Draft): Written {
  const { settings, sampling } = draft
  if (sampling.stop !== undefined) draft.lose(undefined, 'stop sequences')
  const body = {
    model: settings.model,
    instructions: draft.head.length > 0 ? draft.head.join('\n\n') : undefined,
    input: draft.turns.flatMap((turn) => elementsOf(draft, turn)),
    tools: filled(draft.tools.map(declare)),
    ...openaiChoice(draft, (name) => ({ type: 'function', name })),
    max_output_tokens: settings.maxOutputTokens,
    stream: settings.stream ? true : undefined,
    temperature: sampling.temperature,
    top_p: sampling.topP,
    // The body contains the whole history, so the provider need not store it.
    store: false,
  }
  return { text: JSON.stringify(body), losses: draft.losses }
}

function elementsOf(draft: Draft, { role, items }: DraftTurn): Fields[] {
  if (role === 'tool') return items.map((item) => resultElement(draft, item))
  const elements: Fields[] = []
  let parts: Fields[] = []
  const close = (): void => {
    if (parts.length > 0)
      elements.push({ type: 'message', role: role === 'system' ? 'developer' : role, content: parts })
    parts = []
  }
  for (const item of items) {
    if (item.kind === 'call') {
      close()
      const { callId: call_id, toolName: name = 'tool' } = item
      elements.push({ type: 'function_call', call_id, name, arguments: objectJson(item.text) })
      continue
    }
    if (item.text !== '') {
      parts.push(
        role === 'assistant'
          ? { type: 'output_text', text: item.text, annotations: [] }
          : { type: 'input_text', text: item.text },
      )
    }
    for (const media of item.media ?? []) parts.push(...mediaPart(draft, item, media))
  }
  close()
  return elements
}

function resultElement(draft: Draft, item: Item): Fields {
  if (item.isError === true) draft.lose(item, 'the mark that a tool failed', 'minor')
  const media = (item.media ?? []).flatMap((part) => mediaPart(draft, item, part))
  const words = item.text === '' ? [] : [{ type: 'input_text', text: item.text }]
  const output = media.length > 0 ? [...words, ...media] : item.text
  return { type: 'function_call_output', call_id: item.callId, output }
}

function mediaPart(draft: Draft, item: Item, media: Media): Fields[] {
  const { type, mime, data, reference, name } = media
  if (item.role !== 'assistant') {
    if (type === 'image' && (data !== undefined || isWebUrl(reference))) {
      const image_url = data === undefined ? reference : dataUrl(mime ?? 'image/png', data)
      return [{ type: 'input_image', detail: 'auto', image_url }]
    }
    if ((type === 'document' || type === 'file') && data !== undefined) {
      const file_data = dataUrl(mime ?? 'application/pdf', data)
      return [{ type: 'input_file', filename: name ?? 'document.pdf', file_data }]
    }
    if ((type === 'document' || type === 'file') && isWebUrl(reference))
      return [{ type: 'input_file', file_url: reference }]
  }
  return draft.omit(item, media).map((text) => ({ type: 'input_text', text }))
}

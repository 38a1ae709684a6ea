import type { MarkOptions } from '../../core/codec.ts'
import type { EnvelopeChanges, NativeManagement, NewTool } from '../../core/conversation.ts'
import type { Item, Media } from '../../core/item.ts'
import { listOf, type Fields, recordOf, stringOf } from '../../core/values.ts'
import { indexJson, type JsonNode, member } from '../json/json-index.ts'
import { type Splice, spliceMember, spliceMembers, spliceText } from '../json/splice.ts'
import {
  elementSplices,
  encoder,
  type Envelope,
  isReplaced,
  type Members,
  type Source,
  toolSplices,
  type ToolWords,
  withInstruction,
  type Written,
} from '../kit/body.ts'
import { type CacheMark, haveOnly, joinContents, markJson, objectJson, sealedError } from '../kit/editing.ts'
import { argumentsOf, type Draft, type DraftTurn, filled, isWebUrl, joinedTurns } from '../kit/writing.ts'
import { body, type ItemPosition, nodeAt, positionOf } from './decode.ts'

export const encode = encoder<ItemPosition>({
  body,
  write,
  envelope,
  inserted,
  within: (source, message, kept, marks) =>
    elementSplices({ body, edit }, source, member(message, 'content'), kept, marks),
  // A mark on thinking or empty text is refused, a plain string has no place for one, and opaque blocks must not change.
  mayCarry(item, place) {
    const isEmpty = item.text === '' && item.media === undefined
    return place?.bare !== true && item.sealed !== true && !isEmpty
  },
  merging: { merge },
})

const has = (root: JsonNode, key: string): boolean => (member(root, key)?.value ?? null) !== null

/** The vendor refuses a lower trigger. */
const LEAST_COMPACT_TOKENS = 50_000

/** Adds context management, unless the client requested its own. */
function setNative(root: JsonNode, native: NativeManagement, members: Members): void {
  if (has(root, 'context_management')) return
  const edits = editsOf(recordOf(root.value) ?? {}, native)
  if (edits.length > 0) members.set('context_management', JSON.stringify({ edits }))
}

function editsOf(body: Readonly<Record<string, unknown>>, native: NativeManagement): object[] {
  const { clearThinking, clearToolUses, compactAtTokens } = native
  const thinking = recordOf(body['thinking'])?.['type']
  const edits: object[] = []
  // It must be first in the list, and is refused when thinking is off.
  if (clearThinking !== undefined && (thinking === 'enabled' || thinking === 'adaptive'))
    edits.push({
      type: 'clear_thinking_20251015',
      keep: { type: 'thinking_turns', value: Math.max(1, clearThinking.keepTurns) },
    })
  if (clearToolUses !== undefined && listOf(body['tools']).length > 0)
    edits.push({
      type: 'clear_tool_uses_20250919',
      trigger: { type: 'input_tokens', value: clearToolUses.atTokens },
      keep: { type: 'tool_uses', value: clearToolUses.keep },
      clear_at_least: { type: 'input_tokens', value: clearToolUses.atLeastTokens },
    })
  if (compactAtTokens !== undefined && compactAtTokens >= LEAST_COMPACT_TOKENS)
    edits.push({ type: 'compact_20260112', trigger: { type: 'input_tokens', value: compactAtTokens } })
  return edits
}

const BETAS: readonly (readonly [prefix: string, beta: string])[] = [
  ['compact_', 'compact-2026-01-12'],
  ['clear_', 'context-management-2025-06-27'],
]

/** The beta headers that the body's fields require. */
export function nativeBetas(body: unknown): string[] {
  const edits = listOf(recordOf(recordOf(body)?.['context_management'])?.['edits'])
  const types = edits.map((edit) => stringOf(recordOf(edit)?.['type']) ?? '')
  return BETAS.filter(([prefix]) => types.some((type) => type.startsWith(prefix))).map(([, beta]) => beta)
}

const MARK = '{"type":"ephemeral"}'
/** Blocks that accept a mark. Thinking is refused with one, and unknown kinds must not change. */
const MARKABLE = new Set(['text', 'image', 'document', 'tool_use', 'tool_result'])

/**
 * Sets cache marks in a body that has none: after the instructions (or tools), after the summary of an epoch, on the newest block, and where the
 * newest block of the previous request was. The last one makes sure that the previous entry is found, because the vendor only looks back over
 * twenty blocks. Undefined when the client set marks, or no block can have one.
 */
export function placeCacheMarks(text: string, options: MarkOptions = {}): string | undefined {
  const { summaryMessage } = options
  if (text.includes('"cache_control"')) return undefined
  const root = indexJson(text)
  const messages = member(root, 'messages')?.items ?? []
  const places = new Set<number>()
  const splices: Splice[] = []
  const add = (splice: Splice | undefined): void => {
    if (splice === undefined || places.has(splice.start)) return
    places.add(splice.start)
    splices.push(splice)
  }
  add(markHead(root))
  if (summaryMessage !== undefined) add(markMessage(messages[summaryMessage]))
  const last = lastMarkable(messages, messages.length - 1)
  if (last !== undefined) {
    const answer = messages.findLastIndex((message, i) => i <= last.index && roleOf(message) === 'assistant')
    if (answer > 0) add(lastMarkable(messages, answer - 1)?.splice)
    add(last.splice)
  }
  return splices.length === 0 ? undefined : spliceText(text, splices)
}

function markHead(root: JsonNode): Splice | undefined {
  const system = member(root, 'system')
  if (system?.type === 'string') return stringOf(system.value) === '' ? undefined : markString(system)
  return markLast(system) ?? markLast(member(root, 'tools'))
}

function markLast(list: JsonNode | undefined): Splice | undefined {
  const block = list?.items?.at(-1)
  return block?.type === 'object' && recordOf(block.value)?.['text'] !== ''
    ? spliceMember(block, 'cache_control', MARK)
    : undefined
}

/** The newest position at or before a message that accepts a mark. */
function lastMarkable(
  messages: readonly JsonNode[],
  from: number,
): { readonly index: number; readonly splice: Splice } | undefined {
  for (let index = from; index >= 0; index--) {
    const splice = markMessage(messages[index])
    if (splice !== undefined) return { index, splice }
  }
  return undefined
}

function markMessage(message: JsonNode | undefined): Splice | undefined {
  const content = member(message, 'content')
  if (content?.type === 'string') return stringOf(content.value) === '' ? undefined : markString(content)
  const block = content?.items?.findLast(isMarkable)
  return block === undefined ? undefined : spliceMember(block, 'cache_control', MARK)
}

function isMarkable(block: JsonNode): boolean {
  const fields = recordOf(block.value)
  return MARKABLE.has(stringOf(fields?.['type']) ?? '') && fields?.['text'] !== ''
}

/** A plain string as a block, which has a place for a mark. */
const markString = (node: JsonNode): Splice => ({
  start: node.start,
  end: node.end,
  text: `[{"type":"text","text":${node.raw},"cache_control":${MARK}}]`,
})

const roleOf = (message: JsonNode): unknown => recordOf(message.value)?.['role']

/** Only the client's messages are merged: the model's may be signed, and must not change. */
function merge(role: string, messages: readonly JsonNode[]): string | undefined {
  if (role !== 'user' || !haveOnly(messages, ['role', 'content'])) return undefined
  return `{"role":"user","content":${joinContents(messages.map((message) => member(message, 'content')?.raw))}}`
}

function inserted(item: Item, mark: CacheMark | undefined): string {
  const text = JSON.stringify(item.text)
  const role = item.role === 'assistant' ? 'assistant' : 'user'
  if (mark === undefined) return `{"role":"${role}","content":${text}}`
  return `{"role":"${role}","content":[{"type":"text","text":${text}${markJson(mark)}}]}`
}

/** An edit replaces only its own field; marks, ids and unknown keys stay unchanged. */
function edit({ root }: Source, item: Item, mark: CacheMark | undefined): Splice[] {
  const place = positionOf(item)!
  const node = nodeAt(root, place)
  const json = JSON.stringify(item.text)
  if (place.bare) return [{ start: node.start, end: node.end, text: json }]
  if (item.kind === 'reasoning' || (item.kind === 'result' && item.serverSide === true)) {
    throw sealedError(item)
  }
  if (item.kind === 'result') return [spliceMember(node, 'content', json)]
  if (item.kind === 'call') return [spliceMember(node, 'input', objectJson(item.text))]
  if (isReplaced(item)) {
    const own = member(node, 'cache_control')
    const kept = mark ?? (own === undefined ? undefined : { key: 'cache_control', json: own.raw })
    const block = `{"type":"text","text":${json}${markJson(kept)}}`
    return [{ start: node.start, end: node.end, text: block }]
  }
  return [spliceMember(node, 'text', json)]
}

function envelope(changes: EnvelopeChanges, source: Source): Envelope {
  const { root } = source
  const members: Members = new Map()
  if (changes.maxOutputTokens !== undefined) members.set('max_tokens', String(changes.maxOutputTokens))
  const splices = changes.addInstruction === undefined ? [] : instructionSplices(root, changes.addInstruction, members)
  splices.push(...toolSplices(source, changes, members, TOOL_WORDS))
  if (changes.dropStaleThinking === true) splices.push(...bindingSplice(root))
  if (changes.native !== undefined) setNative(root, changes.native, members)
  // Bedrock and Vertex, whose URL names the model, do not know it.
  const { diagnose } = changes
  if (diagnose !== undefined && has(root, 'model') && !has(root, 'diagnostics'))
    members.set('diagnostics', JSON.stringify({ previous_message_id: diagnose }))
  return { splices: [...splices, ...spliceMembers(root, members)] }
}

const TOOL_WORDS: ToolWords = {
  key: 'tools',
  nameOf: (tool) => stringOf(recordOf(tool)?.['name']) ?? '',
  declare,
  choiceKey: 'tool_choice',
  none: '{"type":"none"}',
  forbidsStrictly: true,
  auto: '{"type":"auto"}',
  choiceNames: (choice) => [recordOf(choice)?.['name']].flatMap((name) => stringOf(name) ?? []),
}

function instructionSplices(root: JsonNode, instruction: string, members: Members): Splice[] {
  const system = member(root, 'system')
  const last = system?.items?.at(-1)
  if (last === undefined) {
    members.set('system', withInstruction(system?.value, instruction))
    return []
  }
  return [{ start: last.end, end: last.end, text: `,${JSON.stringify({ type: 'text', text: instruction })}` }]
}

/** Needs the beta header in `STALE_THINKING_HEADERS`. Without thinking in the request, nothing is bound. */
function bindingSplice(root: JsonNode): Splice[] {
  const thinking = member(root, 'thinking')
  if (thinking?.type !== 'object') return []
  return [spliceMember(thinking, 'block_binding', '{"prefix_mismatch_behavior":"drop_block"}')]
}

export interface DeclaredTool {
  name: string
  description: string
  input_schema: { type: 'object'; [key: string]: unknown }
}

export function declare({ name, description, parameters }: NewTool): DeclaredTool {
  return {
    name,
    description,
    input_schema: { ...parameters, type: 'object' },
  }
}

/** The wire requires an output cap; this one is set when the request has none. */
const DEFAULT_MAX_TOKENS = 4096

export function write(draft: Draft): Written {
  const { settings, sampling } = draft
  const body = {
    model: settings.model,
    max_tokens: settings.maxOutputTokens ?? DEFAULT_MAX_TOKENS,
    system: filled(draft.head.map((text) => ({ type: 'text', text }))),
    // All results of a step are in one user message, followed by the user's text.
    messages: joinedTurns(draft, (turn) => blocksOf(draft, turn)),
    tools: filled(draft.tools.map(declare)),
    tool_choice: choiceOf(draft),
    stream: settings.stream ? true : undefined,
    temperature: sampling.temperature,
    top_p: sampling.topP,
    stop_sequences: sampling.stop,
  }
  return { text: JSON.stringify(body), losses: draft.losses }
}

function choiceOf({ toolChoice, tools }: Draft): Fields | undefined {
  if (toolChoice === undefined || tools.length === 0) return undefined
  const { mode, name, single } = toolChoice
  return {
    ...(name === undefined ? { type: mode === 'required' ? 'any' : mode } : { type: 'tool', name }),
    disable_parallel_tool_use: single === true && mode !== 'none' ? true : undefined,
  }
}

function blocksOf(draft: Draft, { role, items }: DraftTurn): Fields[] {
  return items.flatMap((item): Fields[] => {
    if (role === 'system')
      draft.lose(item, 'the rank of an instruction inside the history; it is a user message now', 'minor')
    if (item.kind === 'call') {
      return [{ type: 'tool_use', id: item.callId, name: item.toolName ?? 'tool', input: argumentsOf(item) }]
    }
    const media = (item.media ?? []).flatMap((part) => mediaBlock(draft, item, part))
    const words = item.text === '' ? [] : [{ type: 'text', text: item.text }]
    if (item.kind !== 'result') return [...words, ...media]
    return [
      {
        type: 'tool_result',
        tool_use_id: item.callId,
        content: media.length > 0 ? [...words, ...media] : item.text,
        is_error: item.isError === true ? true : undefined,
      },
    ]
  })
}

function mediaBlock(draft: Draft, item: Item, media: Media): Fields[] {
  const { type, mime, data, reference, name } = media
  const isDocument = type === 'document' && (mime === undefined || mime === 'application/pdf')
  const source =
    data !== undefined && mime !== undefined
      ? { type: 'base64', media_type: mime, data }
      : isWebUrl(reference)
        ? { type: 'url', url: reference }
        : undefined
  if (source === undefined || (type !== 'image' && !isDocument) || item.role === 'assistant') {
    return draft.omit(item, media).map((text) => ({ type: 'text', text }))
  }
  return [{ type, source, title: isDocument && name !== undefined ? name : undefined }]
}

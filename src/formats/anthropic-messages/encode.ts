import type { MarkOptions } from '../../core/codec.ts'
import type { Conversation, EnvelopeChanges, NativeManagement } from '../../core/conversation.ts'
import type { Item } from '../../core/item.ts'
import { recordOf, stringOf } from '../../core/values.ts'
import { indexJson, type JsonNode, member, rawText } from '../json/json-index.ts'
import {
  type ArrayPart,
  inOrder,
  jsonTextOf,
  type Splice,
  spliceArray,
  spliceMember,
  spliceSized,
  spliceText,
} from '../json/splice.ts'
import {
  type CacheMark,
  groupByMessage,
  haveOnly,
  joinContents,
  type MarkedWire,
  markJson,
  mergeNeighbours,
  moveCacheMarks,
  objectJson,
  partAt,
  type RawMessage,
  sealedError,
  writeRestored,
} from '../kit/editing.ts'
import { arrayOf } from '../kit/reading.ts'
import { writeForeign, type Written } from '../kit/writing.ts'
import { decode, FORMAT, MARK_KEYS, messagesOf, nodeAt, placeOf, type Source, sourceOf } from './decode.ts'
import { declare, writeAnthropicMessages } from './write.ts'

/** The vendor refuses a lower trigger. */
const LEAST_COMPACT_TOKENS = 50_000

/** A client that manages its own context keeps its own words about it. */
function nativeSplice(root: JsonNode, native: NativeManagement): Splice[] {
  if ((member(root, 'context_management')?.value ?? null) !== null) return []
  const edits = editsOf(recordOf(root.value) ?? {}, native)
  return edits.length === 0 ? [] : [spliceMember(root, 'context_management', JSON.stringify({ edits }))]
}

function editsOf(body: Readonly<Record<string, unknown>>, native: NativeManagement): object[] {
  const { clearThinking, clearToolUses, compactAtTokens } = native
  const thinking = recordOf(body['thinking'])?.['type']
  const edits: object[] = []
  // Has to stand first, and is refused where nothing thinks.
  if (clearThinking !== undefined && (thinking === 'enabled' || thinking === 'adaptive'))
    edits.push({
      type: 'clear_thinking_20251015',
      keep: { type: 'thinking_turns', value: Math.max(1, clearThinking.keepTurns) },
    })
  if (clearToolUses !== undefined && (arrayOf(body['tools'])?.length ?? 0) > 0)
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

/** The beta headers without which the vendor does not know what a body asks for. */
export function nativeBetas(body: unknown): string[] {
  const edits = arrayOf(recordOf(recordOf(body)?.['context_management'])?.['edits']) ?? []
  const types = edits.map((edit) => stringOf(recordOf(edit)?.['type']) ?? '')
  return BETAS.filter(([prefix]) => types.some((type) => type.startsWith(prefix))).map(([, beta]) => beta)
}

const MARK = '{"type":"ephemeral"}'
/** Blocks that take a mark for certain; thinking is refused with one, and unknown kinds stay as they came. */
const MARKABLE = new Set(['text', 'image', 'document', 'tool_use', 'tool_result'])

/**
 * Sets cache marks in a body that has none: one behind the instructions (or tools), one behind the summary of an epoch, one on the
 * newest block, and one where the newest block of the request before stood, so that its entry is found however many blocks a step
 * has (the vendor looks back over twenty). Undefined when the client has marks of its own, or nothing can carry one.
 */
export function placeCacheMarks(text: string, options: MarkOptions = {}): string | undefined {
  const { summaryMessage, suffixMessages = 0 } = options
  if (text.includes('"cache_control"')) return undefined
  const root = indexJson(text)
  const all = messagesOf(root)
  const messages = all.slice(0, all.length - suffixMessages)
  const places = new Set<number>()
  const splices: Splice[] = []
  const add = (splice: Splice | undefined): void => {
    if (splice === undefined || places.has(splice.start)) return
    places.add(splice.start)
    splices.push(splice)
  }
  add(markHead(text, root))
  if (summaryMessage !== undefined) add(markMessage(text, messages[summaryMessage]))
  const last = lastMarkable(text, messages, messages.length - 1)
  if (last !== undefined) {
    const answer = messages.findLastIndex((message, i) => i <= last.index && roleOf(message) === 'assistant')
    if (answer > 0) add(lastMarkable(text, messages, answer - 1)?.splice)
    add(last.splice)
  }
  return splices.length === 0 ? undefined : spliceText(text, splices)
}

function markHead(text: string, root: JsonNode): Splice | undefined {
  const system = member(root, 'system')
  if (system?.type === 'string') return stringOf(system.value) === '' ? undefined : markString(text, system)
  return markLast(system) ?? markLast(member(root, 'tools'))
}

function markLast(list: JsonNode | undefined): Splice | undefined {
  const block = list?.items?.at(-1)
  return block?.type === 'object' && recordOf(block.value)?.['text'] !== ''
    ? spliceMember(block, 'cache_control', MARK)
    : undefined
}

/** The newest place at or before a message that takes a mark. */
function lastMarkable(
  text: string,
  messages: readonly JsonNode[],
  from: number,
): { readonly index: number; readonly splice: Splice } | undefined {
  for (let index = from; index >= 0; index--) {
    const splice = markMessage(text, messages[index])
    if (splice !== undefined) return { index, splice }
  }
  return undefined
}

function markMessage(text: string, message: JsonNode | undefined): Splice | undefined {
  const content = member(message, 'content')
  if (content?.type === 'string') return stringOf(content.value) === '' ? undefined : markString(text, content)
  const block = content?.items?.findLast(isMarkable)
  return block === undefined ? undefined : spliceMember(block, 'cache_control', MARK)
}

function isMarkable(block: JsonNode): boolean {
  const fields = recordOf(block.value)
  return MARKABLE.has(stringOf(fields?.['type']) ?? '') && fields?.['text'] !== ''
}

/** A plain string has no room for a mark; as a block it says the same. */
const markString = (text: string, node: JsonNode): Splice => ({
  start: node.start,
  end: node.end,
  text: `[{"type":"text","text":${rawText(text, node)},"cache_control":${MARK}}]`,
})

const roleOf = (message: JsonNode): unknown => recordOf(message.value)?.['role']

export function encode(conversation: Conversation): Written {
  if (conversation.format !== FORMAT) return writeForeign(conversation, writeAnthropicMessages, { decode, encode })
  const source = sourceOf(conversation)
  const splices = [...historySplices(conversation, source), ...envelopeSplices(conversation, source)]
  return { losses: [], ...spliceSized(source, splices) }
}

export const envelope = (conversation: Conversation): readonly Splice[] =>
  inOrder(envelopeSplices(conversation, sourceOf(conversation)))

function historySplices(conversation: Conversation, source: Source): Splice[] {
  if (conversation.items === source.items) return []
  const { root } = source
  const list = member(root, 'messages')!
  const messages = groupByMessage(conversation.items, (item) => placeOf(item) !== undefined)
  const marks = moveCacheMarks(markedWire(source), messages)
  const written: ArrayPart[] = []
  const changes: Splice[] = []
  for (const message of messages) {
    if (message.own === undefined) {
      written.push(
        'restored' in message
          ? writeRestored(encode, message.restored)
          : insertedMessage(message.inserted, marks.get(message.inserted.id)),
      )
      continue
    }
    written.push(message.own)
    const content = member(list.at(message.own), 'content')!
    if (content.type === 'array' && message.kept.length < content.length) {
      changes.push(
        ...spliceArray(
          source.text,
          content,
          message.kept.map((item) => placeOf(item)!.block),
        ),
      )
    }
    for (const item of message.kept) {
      const mark = marks.get(item.id)
      const isReplaced = item.edited === true && needsNewBlock(item)
      if (item.edited === true) changes.push(editSplice(source, item, mark))
      if (mark !== undefined && !isReplaced)
        changes.push(spliceMember(nodeAt(root, placeOf(item)!), mark.key, mark.json))
    }
  }
  const { parts, splices: within } = mergeNeighbours(
    { messages, parts: written, splices: changes },
    { text: source.text, count: list.length, nodeOf: (own) => list.at(own)!, merge },
  )
  const splices = [...within]
  if (parts.length !== list.length || parts.some((part, i) => part !== i)) {
    splices.push(...spliceArray(source.text, list, parts))
  }
  return splices
}

/** What the model said is signed in places, and stays as it was written. */
function merge(role: string, messages: readonly RawMessage[]): string | undefined {
  if (role !== 'user' || !haveOnly(messages, ['role', 'content'])) return undefined
  return `{"role":"user","content":${joinContents(messages.map((message) => message.raw('content')))}}`
}

function markedWire({ text, root, marks }: Source): MarkedWire {
  return {
    text,
    keys: MARK_KEYS,
    places: marks(),
    blockAt: (place) => partAt(member(root, 'messages'), place),
    nodeOf(item) {
      const place = placeOf(item)
      return place === undefined ? undefined : nodeAt(root, place)
    },
    // Thinking cannot carry a mark, empty text is refused with one, a plain string has no room, and opaque blocks stay as
    // they came.
    mayCarry(item) {
      const isEmpty = item.text === '' && item.media === undefined
      return placeOf(item)?.bare !== true && item.sealed !== true && !isEmpty
    },
  }
}

function insertedMessage(item: Item, mark: CacheMark | undefined): string {
  const text = jsonTextOf(item)
  const role = item.role === 'assistant' ? 'assistant' : 'user'
  if (mark === undefined) return `{"role":"${role}","content":${text}}`
  return `{"role":"${role}","content":[{"type":"text","text":${text}${markJson(mark)}}]}`
}

const needsNewBlock = (item: Item): boolean => item.kind === 'media' || item.kind === 'opaque'

/** An edit replaces only its own field; marks, ids and unknown keys beside it stay as they came. */
function editSplice({ text, root }: Source, item: Item, mark: CacheMark | undefined): Splice {
  const place = placeOf(item)!
  const node = nodeAt(root, place)
  const json = jsonTextOf(item)
  if (place.bare) return { start: node.start, end: node.end, text: json }
  if (item.kind === 'reasoning' || (item.kind === 'result' && item.serverSide === true)) {
    throw sealedError(item)
  }
  if (item.kind === 'result') return spliceMember(node, 'content', json)
  if (item.kind === 'call') return spliceMember(node, 'input', objectJson(item.text))
  if (needsNewBlock(item)) {
    const own = member(node, 'cache_control')
    const kept = mark ?? (own === undefined ? undefined : { key: 'cache_control', json: rawText(text, own) })
    const block = `{"type":"text","text":${json}${markJson(kept)}}`
    return { start: node.start, end: node.end, text: block }
  }
  return spliceMember(node, 'text', json)
}

function envelopeSplices(conversation: Conversation, source: Source): Splice[] {
  const { changes } = conversation
  if (changes === undefined) return []
  const { root } = source
  const splices: Splice[] = []
  if (changes.maxOutputTokens !== undefined)
    splices.push(spliceMember(root, 'max_tokens', String(changes.maxOutputTokens)))
  if (changes.addInstruction !== undefined) splices.push(systemSplice(root, changes.addInstruction))
  splices.push(...toolSplices(source, changes))
  // Otherwise it changes nothing here: another `tool_choice` would throw the cached messages away.
  if (changes.forbidTools === 'strictly') splices.push(spliceMember(root, 'tool_choice', '{"type":"none"}'))
  if (changes.dropStaleThinking === true) splices.push(...bindingSplice(root))
  if (changes.native !== undefined) splices.push(...nativeSplice(root, changes.native))
  return splices
}

function systemSplice(root: JsonNode, instruction: string): Splice {
  const system = member(root, 'system')
  const block = JSON.stringify({ type: 'text', text: instruction })
  if (system?.type === 'array' && (system.items?.length ?? 0) > 0) {
    const end = system.items!.at(-1)!.end
    return { start: end, end, text: `,${block}` }
  }
  const before = stringOf(system?.value)
  return spliceMember(
    root,
    'system',
    JSON.stringify(before === undefined || before === '' ? instruction : `${before}\n\n${instruction}`),
  )
}

function toolSplices(source: Source, changes: EnvelopeChanges): Splice[] {
  const { root, text } = source
  const tools = member(root, 'tools')
  const own = tools?.items ?? []
  const added = (changes.addTools ?? []).map((tool) => JSON.stringify(declare(tool)))
  const nameAt = (i: number): unknown => recordOf(own[i]?.value)?.['name']
  const stay = own.map((_, i) => i).filter((i) => changes.keepTools?.includes(String(nameAt(i))) ?? true)
  // History with tool blocks needs its tools declared, so a turn without tools keeps the list and forbids the choice.
  if (changes.keepTools !== undefined && stay.length + added.length === 0) {
    return own.length === 0 ? [] : [spliceMember(root, 'tool_choice', '{"type":"none"}')]
  }
  const splices: Splice[] = []
  if (tools === undefined || tools.type !== 'array') {
    if (added.length > 0) splices.push(spliceMember(root, 'tools', `[${added.join(',')}]`))
  } else if (added.length > 0 || stay.length < own.length)
    splices.push(...spliceArray(text, tools, [...stay, ...added]))
  const chosen = recordOf(member(root, 'tool_choice')?.value)?.['name']
  if (chosen !== undefined && !stay.some((i) => nameAt(i) === chosen))
    splices.push(spliceMember(root, 'tool_choice', '{"type":"auto"}'))
  return splices
}

/** Needs the beta header of `STALE_THINKING_HEADERS`. Without thinking in the request there is nothing to bind. */
function bindingSplice(root: JsonNode): Splice[] {
  const thinking = member(root, 'thinking')
  if (thinking?.type !== 'object') return []
  return [spliceMember(thinking, 'block_binding', '{"prefix_mismatch_behavior":"drop_block"}')]
}

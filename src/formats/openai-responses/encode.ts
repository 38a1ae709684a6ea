import type { HeldHistory } from '../../core/codec.ts'
import type { Conversation, EnvelopeChanges } from '../../core/conversation.ts'
import type { Item } from '../../core/item.ts'
import { recordOf, stringOf } from '../../core/values.ts'
import { type JsonNode, member, rawText } from '../json/json-index.ts'
import {
  type ArrayPart,
  inOrder,
  jsonTextOf,
  type Splice,
  spliceArray,
  spliceMember,
  spliceMembers,
  spliceSized,
  spliceText,
} from '../json/splice.ts'
import {
  type CacheMark,
  groupByMessage,
  type MarkedWire,
  markJson,
  moveCacheMarks,
  objectJson,
  partAt,
  sealedError,
  writeRestored,
} from '../kit/editing.ts'
import { arrayOf } from '../kit/reading.ts'
import { writeForeign, type Written } from '../kit/writing.ts'
import {
  decode,
  fieldsOf,
  FORMAT,
  MARK_KEYS,
  nodeAt,
  placeOf,
  type Source,
  sourceOf,
  toolNameOf,
  typeOf,
} from './decode.ts'
import { declare, writeOpenaiResponses } from './write.ts'

/** An edit replaces only its own field; marks, ids and unknown keys beside it stay as they came. */
function editSplice({ text, root }: Source, item: Item, mark?: CacheMark): Splice {
  const place = placeOf(item)!
  const { shape } = place
  const node = nodeAt(root, place)
  const json = jsonTextOf(item)
  if (item.sealed === true && item.kind !== 'opaque') throw sealedError(item)
  if (shape === 'input' || shape === 'content') return { start: node.start, end: node.end, text: json }
  if (shape === 'part') return partSplice(text, item, node, json, mark)
  if (item.kind === 'call') return callSplice(node, item)
  if (item.kind === 'result') return resultSplice(text, node, json)
  if (item.kind === 'opaque') {
    // What was opaque goes; a plain message takes its place.
    const role = item.role === 'system' ? 'developer' : item.role === 'user' ? 'user' : 'assistant'
    return { start: node.start, end: node.end, text: `{"role":"${role}","content":${json}}` }
  }
  return spliceMember(node, 'content', json)
}

/** A picture or an opaque part has no text to replace: a text part takes its place. */
const needsNewPart = (item: Item): boolean => item.kind === 'media' || item.kind === 'opaque'

function partSplice(text: string, item: Item, node: JsonNode, json: string, mark: CacheMark | undefined): Splice {
  if (!needsNewPart(item)) {
    return spliceMember(node, member(node, 'refusal') === undefined ? 'text' : 'refusal', json)
  }
  const key = 'prompt_cache_breakpoint'
  const own = member(node, key)
  const kept = markJson(own === undefined ? mark : { key, json: rawText(text, own) })
  const part =
    item.role === 'assistant'
      ? `{"type":"output_text","text":${json},"annotations":[]}`
      : `{"type":"input_text","text":${json}${kept}}`
  return { start: node.start, end: node.end, text: part }
}

/** Calls whose request is an object: where it stands, and the member of it that plain text goes into. */
const STRUCTURED: Readonly<Record<string, { readonly key: string; readonly inner: string; readonly isList: boolean }>> =
  {
    local_shell_call: { key: 'action', inner: 'command', isList: true },
    shell_call: { key: 'action', inner: 'commands', isList: true },
    apply_patch_call: { key: 'operation', inner: 'diff', isList: false },
  }

function callSplice(node: JsonNode, item: Item): Splice {
  const type = typeOf(node.value as Record<string, unknown>)
  if (type === 'function_call') return spliceMember(node, 'arguments', JSON.stringify(objectJson(item.text)))
  if (type === 'custom_tool_call') return spliceMember(node, 'input', jsonTextOf(item))
  if (type === 'tool_search_call') return spliceMember(node, 'arguments', objectJson(item.text))
  const structured = STRUCTURED[type]
  const whole = structured === undefined ? undefined : member(node, structured.key)
  if (structured === undefined || whole === undefined) throw sealedError(item)
  if (isObjectJson(item.text)) return spliceMember(node, structured.key, item.text)
  return spliceMember(whole, structured.inner, JSON.stringify(structured.isList ? [item.text] : item.text))
}

function isObjectJson(text: string): boolean {
  try {
    return recordOf(JSON.parse(text)) !== undefined
  } catch {
    return false
  }
}

function resultSplice(text: string, node: JsonNode, json: string): Splice {
  if (typeOf(node.value as Record<string, unknown>) !== 'shell_call_output') return spliceMember(node, 'output', json)
  // A shell's output is a list of runs; how the first one ended stays true.
  const outcome = member(member(node, 'output')?.items?.[0], 'outcome')
  const ended = outcome === undefined ? '{"type":"exit","exit_code":0}' : rawText(text, outcome)
  return spliceMember(node, 'output', `[{"stdout":${json},"stderr":"","outcome":${ended}}]`)
}

function envelopeSplices(conversation: Conversation, source: Source): Splice[] {
  const { changes } = conversation
  if (changes === undefined) return []
  const { root } = source
  const members = new Map<string, string | undefined>()
  if (changes.maxOutputTokens !== undefined) members.set('max_output_tokens', String(changes.maxOutputTokens))
  if (changes.dropPreviousResponseId === true) members.set('previous_response_id', undefined)
  const { compactAtTokens } = changes.native ?? {}
  // A client that manages its own context keeps its own words about it.
  if (compactAtTokens !== undefined && (member(root, 'context_management')?.value ?? null) === null)
    members.set('context_management', `[{"type":"compaction","compact_threshold":${compactAtTokens}}]`)
  if (changes.addInstruction !== undefined) {
    const before = stringOf(member(root, 'instructions')?.value) ?? ''
    const words = before === '' ? changes.addInstruction : `${before}\n\n${changes.addInstruction}`
    members.set('instructions', JSON.stringify(words))
  }
  const splices = toolSplices(source, changes, members)
  if (changes.forbidTools !== undefined && (member(root, 'tools')?.items?.length ?? 0) > 0)
    members.set('tool_choice', '"none"')
  return [...splices, ...spliceMembers(root, members)]
}

function toolSplices(source: Source, changes: EnvelopeChanges, members: Map<string, string | undefined>): Splice[] {
  const { root, text } = source
  const tools = member(root, 'tools')
  const own = tools?.items ?? []
  const added = (changes.addTools ?? []).map((tool) => JSON.stringify(declare(tool)))
  const nameAt = (i: number): string => toolNameOf(own[i]?.value)
  const stay = own.map((_, i) => i).filter((i) => changes.keepTools?.includes(nameAt(i)) ?? true)
  // The list stays so that the cached prefix holds; the choice forbids its use.
  if (changes.keepTools !== undefined && stay.length + added.length === 0) {
    if (own.length > 0) members.set('tool_choice', '"none"')
    return []
  }
  const left = new Set(stay.map(nameAt))
  if (choiceNames(member(root, 'tool_choice')?.value).some((name) => !left.has(name)))
    members.set('tool_choice', '"auto"')
  if (tools?.type !== 'array') {
    if (added.length > 0) members.set('tools', `[${added.join(',')}]`)
    return []
  }
  return added.length > 0 || stay.length < own.length ? spliceArray(text, tools, [...stay, ...added]) : []
}

/** Tools that a choice names: one that is forced, or the list of allowed ones. */
function choiceNames(choice: unknown): string[] {
  const fields = recordOf(choice)
  if (fields === undefined) return []
  return (arrayOf(fields['tools']) ?? [fields]).map(toolNameOf)
}

/** What stands only for something that the provider holds, or for what came before it. */
const NOT_REPEATABLE = new Set(['item_reference', 'compaction', 'compaction_trigger'])

export const held: HeldHistory = {
  isKept: (conversation) => fieldsOf(conversation)['store'] !== false,
  itemsOf(conversation) {
    const { text, root } = sourceOf(conversation)
    const input = member(root, 'input')
    if (input === undefined || input.value === null) return []
    if (typeof input.value === 'string') return [`{"role":"user","content":${rawText(text, input)}}`]
    const elements = input.items ?? []
    return elements.every(({ value }) => isRepeatable(value)) ? elements.map((node) => rawText(text, node)) : undefined
  },
  writeOut(conversation, earlier) {
    const { text, root } = sourceOf(conversation)
    const own = held.itemsOf(conversation)
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

/** The items of an answer as a request repeats them; undefined where one of them cannot be, or where it goes on in the background. */
export function repeatable(response: Readonly<Record<string, unknown>>): readonly string[] | undefined {
  const { status } = response
  if (status !== 'completed' && status !== 'incomplete') return undefined
  const output = arrayOf(response['output']) ?? []
  return output.every(isRepeatable) ? output.map((item) => JSON.stringify(item)) : undefined
}

export function encode(conversation: Conversation): Written {
  if (conversation.format !== FORMAT) return writeForeign(conversation, writeOpenaiResponses, { decode, encode })
  const source = sourceOf(conversation)
  const splices = [...historySplices(conversation, source), ...envelopeSplices(conversation, source)]
  return { losses: [], ...spliceSized(source, splices) }
}

export const envelope = (conversation: Conversation): readonly Splice[] =>
  inOrder(envelopeSplices(conversation, sourceOf(conversation)))

function historySplices(conversation: Conversation, source: Source): Splice[] {
  if (conversation.items === source.items) return []
  const list = member(source.root, 'input')
  if (list?.type !== 'array') return stringInputSplices(conversation, source)
  const parts: ArrayPart[] = Array.from({ length: source.headCount }, (_, i) => i)
  const splices: Splice[] = []
  const messages = groupByMessage(conversation.items, (item) => placeOf(item) !== undefined)
  const marks = moveCacheMarks(markedWire(source), messages)
  for (const message of messages) {
    if (message.own === undefined) {
      parts.push(
        'restored' in message
          ? writeRestored(encode, message.restored)
          : writeMessage(message.inserted, marks.get(message.inserted.id)),
      )
    } else {
      parts.push(message.own)
      if (message.kept.length < source.itemsOf[message.own]!.length) {
        const content = member(list.at(message.own), 'content')!
        const left = message.kept.map((item) => placeOf(item)!.index)
        splices.push(...spliceArray(source.text, content, left))
      }
      for (const item of message.kept) {
        const mark = marks.get(item.id)
        if (item.edited === true) splices.push(editSplice(source, item, mark))
        if (mark !== undefined && !(item.edited === true && needsNewPart(item)))
          splices.push(spliceMember(nodeAt(source.root, placeOf(item)!), mark.key, mark.json))
      }
    }
  }
  if (parts.length !== list.length || parts.some((part, i) => part !== i)) {
    splices.push(...spliceArray(source.text, list, parts))
  }
  return splices
}

/** An input that is one string, or absent, becomes a list as soon as it holds anything else. */
function stringInputSplices({ items }: Conversation, source: Source): Splice[] {
  const list = member(source.root, 'input')
  const [first] = items
  const isWhole = items.length === 1 && first !== undefined && placeOf(first) !== undefined
  if (isWhole) return first.edited === true ? [editSplice(source, first)] : []
  if (items.length === 0 && (list === undefined || list.value === null)) return []
  const messages = groupByMessage(items, (item) => placeOf(item) !== undefined).map((message) => {
    if (message.own === undefined)
      return 'restored' in message ? writeRestored(encode, message.restored) : writeMessage(message.inserted)
    const [item] = message.kept
    return item?.edited === true ? writeMessage(item) : `{"role":"user","content":${rawText(source.text, list!)}}`
  })
  return [spliceMember(source.root, 'input', `[${messages.join(',')}]`)]
}

function writeMessage(item: Item, mark?: CacheMark): string {
  const text = jsonTextOf(item)
  const content = mark === undefined ? text : `[{"type":"input_text","text":${text}${markJson(mark)}}]`
  return `{"role":"${item.role === 'assistant' ? 'assistant' : 'user'}","content":${content}}`
}

function markedWire({ text, root, marks, headCount }: Source): MarkedWire {
  return {
    text,
    keys: MARK_KEYS,
    places: marks(),
    blockAt: (place) => partAt(member(root, 'input'), place, headCount),
    nodeOf(item) {
      const place = placeOf(item)
      return place === undefined ? undefined : nodeAt(root, place)
    },
    // Only parts of what goes in have room for a mark, and opaque ones stay as they came.
    mayCarry: (item) =>
      (placeOf(item)?.shape ?? 'part') === 'part' && item.sealed !== true && item.role !== 'assistant',
  }
}

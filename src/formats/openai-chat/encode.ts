import type { Conversation, EnvelopeChanges, NewTool } from '../../core/conversation.ts'
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
import { decode, FORMAT, MARK_KEYS, messageAt, nodeAt, placeOf, type Source, sourceOf, toolNameOf } from './decode.ts'
import { capKey, declare, writeOpenaiChat } from './write.ts'

interface EnvelopeSplices {
  /** A new first message, when there was no instruction to append to. */
  readonly front: string | undefined
  readonly splices: readonly Splice[]
}

function envelopeSplices(conversation: Conversation, source: Source): EnvelopeSplices {
  const { changes } = conversation
  if (changes === undefined) return { front: undefined, splices: [] }
  const { root } = source
  const members = new Map<string, string | undefined>()
  const splices: Splice[] = []
  if (changes.maxOutputTokens !== undefined) {
    for (const key of limitKeys(root)) members.set(key, String(changes.maxOutputTokens))
  }
  splices.push(...toolSplices(source, changes, members))
  if (changes.forbidTools !== undefined) forbidTools(root, members)
  let front: string | undefined
  if (changes.addInstruction !== undefined) {
    const last = messageAt(root, source.headCount - 1)
    if (source.headCount === 0 || last === undefined) {
      front = `{"role":"system","content":${JSON.stringify(changes.addInstruction)}}`
    } else splices.push(instructionSplice(last, changes.addInstruction))
  }
  return { front, splices: [...splices, ...spliceMembers(root, members)] }
}

/** A choice is refused without tools to choose from. */
function forbidTools(root: JsonNode, members: Map<string, string | undefined>): void {
  if ((member(root, 'tools')?.length ?? 0) > 0) members.set('tool_choice', '"none"')
  else if ((member(root, 'functions')?.length ?? 0) > 0) members.set('function_call', '"none"')
}

function limitKeys(root: JsonNode): string[] {
  const present = ['max_completion_tokens', 'max_tokens'].filter((key) => (member(root, key)?.value ?? null) !== null)
  if (present.length > 0) return present
  return [capKey(stringOf(member(root, 'model')?.value) ?? '')]
}

function instructionSplice(message: JsonNode, instruction: string): Splice {
  const content = member(message, 'content')
  const last = content?.items?.at(-1)
  if (last !== undefined) {
    return { start: last.end, end: last.end, text: `,${JSON.stringify({ type: 'text', text: instruction })}` }
  }
  const before = stringOf(content?.value) ?? ''
  return spliceMember(message, 'content', JSON.stringify(before === '' ? instruction : `${before}\n\n${instruction}`))
}

function toolSplices(source: Source, changes: EnvelopeChanges, members: Map<string, string | undefined>): Splice[] {
  const { root, text } = source
  // Before tools there were functions; a body has one or the other.
  const key = member(root, 'functions') !== undefined && member(root, 'tools') === undefined ? 'functions' : 'tools'
  const choiceKey = key === 'tools' ? 'tool_choice' : 'function_call'
  const tools = member(root, key)
  const own = tools?.items ?? []
  const added = (changes.addTools ?? []).map((tool) => declaration(tool, key))
  const stay = own.map((_, i) => i).filter((i) => changes.keepTools?.includes(toolNameOf(own[i]!.value)) ?? true)
  // The list stays so that the cached prefix holds; the choice forbids its use.
  if (changes.keepTools !== undefined && stay.length + added.length === 0) {
    if (own.length > 0) members.set(choiceKey, '"none"')
    return []
  }
  const left = new Set(stay.map((i) => toolNameOf(own[i]!.value)))
  if (choiceNames(member(root, choiceKey)?.value).some((name) => !left.has(name))) members.set(choiceKey, '"auto"')
  if (tools?.type !== 'array') {
    if (added.length > 0) members.set(key, `[${added.join(',')}]`)
    return []
  }
  return added.length > 0 || stay.length < own.length ? spliceArray(text, tools, [...stay, ...added]) : []
}

function declaration(tool: NewTool, key: string): string {
  const declared = declare(tool)
  return JSON.stringify(key === 'functions' ? declared.function : declared)
}

/** Tools that a choice names: one that is forced, or the list of allowed ones. */
function choiceNames(choice: unknown): string[] {
  const fields = recordOf(choice)
  if (fields === undefined) return []
  const allowed = arrayOf(recordOf(fields['allowed_tools'])?.['tools'])
  const entries = allowed ?? [fields]
  return entries.flatMap((entry) => {
    const tool = recordOf(entry) ?? {}
    const body = recordOf(tool['function']) ?? recordOf(tool['custom']) ?? tool
    return stringOf(body['name']) ?? []
  })
}

export function encode(conversation: Conversation): Written {
  if (conversation.format !== FORMAT) return writeForeign(conversation, writeOpenaiChat, { decode, encode })
  const source = sourceOf(conversation)
  const { front, splices } = envelopeSplices(conversation, source)
  return { losses: [], ...spliceSized(source, [...historySplices(conversation, source, front), ...splices]) }
}

/** A new first message is part of the history. */
export function envelope(conversation: Conversation): readonly Splice[] | undefined {
  const { front, splices } = envelopeSplices(conversation, sourceOf(conversation))
  return front === undefined ? inOrder(splices) : undefined
}

/** `front`: a message that the envelope puts before all others. */
function historySplices(conversation: Conversation, source: Source, front: string | undefined): Splice[] {
  if (conversation.items === source.items && front === undefined) return []
  const list = member(source.root, 'messages')!
  const head: ArrayPart[] = [
    ...(front === undefined ? [] : [front]),
    ...Array.from({ length: source.headCount }, (_, i) => i),
  ]
  const written: ArrayPart[] = []
  const changes: Splice[] = []
  const messages = groupByMessage(conversation.items, (item) => placeOf(item) !== undefined)
  const marks = moveCacheMarks(markedWire(source), messages)
  for (const message of messages) {
    if (message.own === undefined) {
      written.push(
        'restored' in message
          ? writeRestored(encode, message.restored)
          : insertedMessage(message.inserted, marks.get(message.inserted.id)),
      )
    } else {
      written.push(message.own)
      changes.push(...messageSplices(source, list.at(message.own)!, message.kept, marks))
    }
  }
  const merged = mergeNeighbours(
    { messages, parts: written, splices: changes },
    { text: source.text, count: list.length, nodeOf: (own) => list.at(own)!, merge },
  )
  const parts = [...head, ...merged.parts]
  const splices = [...merged.splices]
  if (parts.length !== list.length || parts.some((part, i) => part !== i)) {
    splices.push(...spliceArray(source.text, list, parts))
  }
  return splices
}

function merge(role: string, messages: readonly RawMessage[]): string | undefined {
  const isModel = role === 'assistant'
  if (!isModel && role !== 'user') return undefined
  // Calls stand behind everything that their message says.
  const last = messages.at(-1)!
  const calls = isModel ? last.raw('tool_calls') : undefined
  const isPlain = haveOnly(messages.slice(0, -1), ['role', 'content'])
  if (!isPlain || !haveOnly([last], ['role', 'content', ...(isModel ? ['tool_calls'] : [])])) return undefined
  const content = joinContents(messages.map((message) => message.raw('content')))
  return `{"role":"${role}","content":${content}${calls === undefined ? '' : `,"tool_calls":${calls}`}}`
}

function insertedMessage(item: Item, mark: CacheMark | undefined): string {
  const text = jsonTextOf(item)
  const content = mark === undefined ? text : `[{"type":"text","text":${text}${markJson(mark)}}]`
  return `{"role":"${item.role === 'assistant' ? 'assistant' : 'user'}","content":${content}}`
}

function markedWire({ text, root, marks, headCount }: Source): MarkedWire {
  return {
    text,
    keys: MARK_KEYS,
    places: marks(),
    blockAt: (place) => partAt(member(root, 'messages'), place, headCount),
    nodeOf(item) {
      const place = placeOf(item)
      return place === undefined ? undefined : nodeAt(root, place)
    },
    // Only parts have room for a mark, and opaque ones stay as they came.
    mayCarry: (item) => (placeOf(item)?.shape ?? 'part') === 'part' && item.sealed !== true,
  }
}

function messageSplices(
  source: Source,
  node: JsonNode,
  kept: readonly Item[],
  marks: ReadonlyMap<string, CacheMark>,
): Splice[] {
  const read = source.itemsOf[kept[0]!.message]!
  if (kept.length === read.length && marks.size === 0 && !kept.some((item) => item.edited === true)) return []
  const changes = new Map<string, string | undefined>()
  const splices: Splice[] = []
  if (kept.length < read.length) splices.push(...dropSplices(source.text, node, read, kept, changes))
  for (const item of kept) {
    const mark = marks.get(item.id)
    if (item.edited === true) splices.push(...editSplices(source, item, changes, mark))
    if (mark !== undefined && !(item.edited === true && needsNewPart(item)))
      splices.push(spliceMember(nodeAt(source.root, placeOf(item)!), mark.key, mark.json))
  }
  return [...splices, ...spliceMembers(node, changes)]
}

/** Takes out what was dropped and leaves a message that the wire still accepts. */
function dropSplices(
  text: string,
  node: JsonNode,
  read: readonly Item[],
  kept: readonly Item[],
  changes: Map<string, string | undefined>,
): Splice[] {
  const stays = new Set(kept.map((item) => item.id))
  const splices: Splice[] = []
  for (const item of read) {
    const place = placeOf(item)!
    if (place.shape === 'fields' && !stays.has(item.id)) for (const key of place.keys) changes.set(key, undefined)
  }
  const keepElements = (shape: 'part' | 'call', key: string): void => {
    const list = member(node, key)
    const own = list?.length ?? 0
    const left = kept.flatMap((item) => {
      const place = placeOf(item)!
      return place.shape === shape ? [place.index] : []
    })
    if (left.length === own) return
    if (left.length === 0) changes.set(key, undefined)
    else splices.push(...spliceArray(text, list!, left))
  }
  keepElements('part', 'content')
  keepElements('call', 'tool_calls')
  const speaks = kept.some((item) => item.kind === 'call' || isField(item, 'refusal') || isField(item, 'audio'))
  // An assistant message needs content unless it calls a tool, and some servers want the key even then.
  if (changes.has('content')) changes.set('content', speaks ? 'null' : '""')
  else if (!speaks && (member(node, 'content')?.value ?? null) === null) changes.set('content', '""')
  return splices
}

function isField(item: Item, key: string): boolean {
  const place = placeOf(item)!
  return place.shape === 'fields' && place.keys.includes(key)
}

/** Marks that a part can carry: OpenAI's own, and the one that gateways pass on to Anthropic. */
const needsNewPart = (item: Item): boolean => item.kind === 'media' || item.kind === 'opaque'

/** An edit replaces only its own field; marks, ids and unknown keys beside it stay as they came. */
function editSplices(
  { text, root }: Source,
  item: Item,
  changes: Map<string, string | undefined>,
  mark: CacheMark | undefined,
): Splice[] {
  const place = placeOf(item)!
  const node = nodeAt(root, place)
  const json = jsonTextOf(item)
  if (item.sealed === true && item.kind !== 'opaque') throw sealedError(item)
  if (place.shape === 'message') {
    if (item.kind === 'opaque') throw sealedError(item)
    changes.set('content', json)
    return []
  }
  if (item.kind === 'call') return [callSplice(place.shape === 'call' ? callBody(node) : node, item.text)]
  if (place.shape === 'fields') {
    for (const key of place.keys) changes.set(key, json)
    return []
  }
  if (needsNewPart(item)) {
    const marks = MARK_KEYS.flatMap((key) => {
      const own = member(node, key)
      return own === undefined ? [] : [markJson({ key, json: rawText(text, own) })]
    })
    const part = `{"type":"text","text":${json}${marks.join('')}${markJson(mark)}}`
    return [{ start: node.start, end: node.end, text: part }]
  }
  return [spliceMember(node, member(node, 'type')?.value === 'refusal' ? 'refusal' : 'text', json)]
}

const callBody = (call: JsonNode): JsonNode => member(call, 'function') ?? member(call, 'custom') ?? call

/** Arguments travel as a string; vendors that take an object keep their object. */
function callSplice(body: JsonNode, text: string): Splice {
  if (member(body, 'input') !== undefined) return spliceMember(body, 'input', JSON.stringify(text))
  const isObject = member(body, 'arguments')?.type === 'object'
  return spliceMember(body, 'arguments', isObject ? objectJson(text) : JSON.stringify(objectJson(text)))
}

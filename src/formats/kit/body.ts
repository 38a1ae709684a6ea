import type { Codec } from '../../core/codec.ts'
import type { Conversation, EnvelopeChanges, Loss, RequestSettings } from '../../core/conversation.ts'
import type { Item, ToolDeclaration } from '../../core/item.ts'
import { type Fields, recordOf, stringOf } from '../../core/values.ts'
import { indexGrown, indexJson, type JsonNode, member } from '../json/json-index.ts'
import { type ArrayPart, type Splice, spliceArray, spliceMember, spliceText } from '../json/splice.ts'
import {
  type CacheMark,
  groupByMessage,
  mergeNeighbours,
  type Merging,
  type OutgoingMessage,
  restoredFragment,
  writeRestored,
} from './editing.ts'
import { badInput, objectsIn, toolNamesIn } from './reading.ts'
import { type Draft, draftOf } from './writing.ts'

/** The position of an item: its message, and its index in the message if that has several items. */
export interface Position {
  readonly message: number
  readonly index: number
}

/** A codec's private index of a decoded body. */
export interface Source {
  readonly text: string
  readonly root: JsonNode
  /** Number of leading messages that are instructions; they form the head and always stay. */
  readonly headCount: number
  /** The history as it was read. If the same list comes back, nothing changed. */
  readonly items: readonly Item[]
  /** The items of each message as it was read, from which the encoder computes what was dropped. */
  readonly itemsOf: readonly (readonly Item[])[]
}

export const sourceOf = (conversation: Conversation): Source => conversation.source.value as Source

/** What is needed to read a message besides the message itself. */
export interface Reader {
  readonly root: JsonNode
  /** Tool names by call id, because most results do not contain them. */
  readonly toolNames: Map<string, string>
}

type Path = readonly (string | number)[]

/** How a wire's bodies are read. */
export interface BodyReading<P extends Position> {
  readonly format: string
  /** Members that contain a client's cache mark. */
  readonly markKeys?: readonly string[]
  /** The path of the list of messages in a body. */
  listPath(body: Fields): readonly string[]
  /** Returns the messages; those before `from` were already checked to be objects. @default the list, which is required */
  messagesIn?(body: Fields, from: number): readonly Fields[]
  /** The path of an item in a body. */
  pathOf(position: P, body: Fields): Path
  /** Whether a leading message is an instruction. @default none is */
  isHead?(message: Fields): boolean
  readMessage(reader: Reader, message: Fields, index: number): readonly Item[]
  /** Reads instructions outside the list. */
  readHead?(reader: Reader, body: Fields): readonly Item[]
  /** Reads the history of a body without a list. @default empty */
  readText?(body: Fields): readonly Item[]
  readTools(reader: Reader, body: Fields): readonly ToolDeclaration[]
  readSettings(body: Fields, root: JsonNode): RequestSettings
}

/** Decodes a wire's bodies. */
export interface Decoder<P extends Position>
  extends Pick<BodyReading<P>, 'listPath'>, Pick<Codec, 'format' | 'decode' | 'fields' | 'fragment'> {
  readonly markKeys: readonly string[]
  /** Undefined for an item that was not read from a body of this wire. */
  positionOf(item: Item): P | undefined
  nodeAt(root: JsonNode, position: P): JsonNode
  /** The list of messages in the text; undefined if there is none. */
  listIn(conversation: Conversation): JsonNode | undefined
}

export function decoder<P extends Position>(wire: BodyReading<P>): Decoder<P> {
  const { format, markKeys = [] } = wire
  const fields = (conversation: Conversation): Fields => sourceOf(conversation).root.value as Fields
  const positionOf = (item: Item): P | undefined =>
    item.origin?.format === format ? (item.origin.value as P) : undefined
  const listIn = (conversation: Conversation): JsonNode | undefined =>
    sourceOf(conversation).root.below(wire.listPath(fields(conversation)))

  function decode(text: string, before?: Conversation): Conversation {
    const known = before?.format === format ? sourceOf(before) : undefined
    const path = wire.listPath((known?.root.value ?? {}) as Fields)
    const { root, kept } = indexGrown(text, known?.root, path)
    const body = recordOf(root.value)
    if (body === undefined) throw badInput(format, 'the body', 'an object')
    // The new part may contain another list under the same key, which then counts instead.
    if (kept > 0 && wire.listPath(body).length !== path.length) return decode(text)
    const messages = wire.messagesIn?.(body, kept) ?? listedMessages(wire, body, kept)
    const firstOther = messages.findIndex((message) => wire.isHead?.(message) !== true)
    const headCount = firstOther < 0 ? messages.length : firstOther
    const itemsOf: (readonly Item[])[] = known?.itemsOf.slice(0, kept) ?? []
    const reader: Reader = { root, toolNames: toolNamesIn(itemsOf) }
    for (let i = kept; i < messages.length; i++) itemsOf.push(wire.readMessage(reader, messages[i]!, i))
    const instead = messages.length === 0 ? wire.readText?.(body) : undefined
    const items = instead ?? itemsOf.slice(headCount).flat()
    const source: Source = { text, root, headCount, items, itemsOf }
    // Instructions at the start of the list belong to no message.
    const headItems = itemsOf.slice(0, headCount).flatMap((read) => read.map((item) => ({ ...item, message: -1 })))
    return {
      format,
      head: [...(wire.readHead?.(reader, body) ?? []), ...headItems],
      items,
      tools: wire.readTools(reader, body),
      settings: wire.readSettings(body, root),
      bytes: Buffer.byteLength(text),
      source: { format, value: source },
    }
  }

  function fragment(conversation: Conversation, item: Item): string {
    const position = positionOf(item)
    if (position === undefined) return restoredFragment(item, fragment)
    return sourceOf(conversation).root.below(wire.pathOf(position, fields(conversation)))!.raw
  }

  return {
    format,
    markKeys,
    listPath: (body) => wire.listPath(body),
    positionOf,
    nodeAt: (root, position) => root.below(wire.pathOf(position, root.value as Fields))!,
    decode,
    fields,
    fragment,
    listIn,
  }
}

function listedMessages<P extends Position>(wire: BodyReading<P>, body: Fields, from: number): readonly Fields[] {
  const [key = ''] = wire.listPath(body)
  const list = body[key]
  if (!Array.isArray(list)) throw badInput(wire.format, key, 'an array')
  return objectsIn(list, wire.format, key, from)
}

/** One element of a list. Some servers also accept a single object in place of a list. */
export function elementAt(node: JsonNode | undefined, index: number): JsonNode | undefined {
  if (node?.type === 'array') return node.at(index)
  return node?.type === 'object' && index === 0 ? node : undefined
}

/** Like `spliceArray`, for a list that may be a single object. */
export function spliceList(text: string, list: JsonNode, parts: readonly ArrayPart[]): Splice[] {
  if (list.type === 'array') return spliceArray(text, list, parts)
  const own = parts.indexOf(0)
  if (own < 0) return [{ start: list.start, end: list.end, text: `[${parts.join(',')}]` }]
  const before = parts.slice(0, own).map((part) => `${part},`)
  const after = parts.slice(own + 1).map((part) => `,${part}`)
  return [
    { start: list.start, end: list.start, text: `[${before.join('')}` },
    { start: list.end, end: list.end, text: `${after.join('')}]` },
  ]
}

/** The result of encoding. */
export interface Written {
  readonly text: string
  readonly losses: readonly Loss[]
}

/** Changes outside the history. */
export interface Envelope {
  readonly splices: readonly Splice[]
  /** A new first message, if there was no instruction to append to. */
  readonly front?: string
}

type Marks = ReadonlyMap<string, CacheMark>

/** How a wire's bodies are written: by splicing the changes into the original text. */
export interface BodyWriting<P extends Position> {
  readonly body: Decoder<P>
  /** Writes a conversation that came from another wire. */
  write(draft: Draft): Written
  envelope(changes: EnvelopeChanges, source: Source): Envelope
  /** Writes a message that we insert. */
  inserted(item: Item, mark: CacheMark | undefined): string
  /** Changes within a message of the client, of which these items stay. */
  within(source: Source, message: JsonNode, kept: readonly Item[], marks: Marks): readonly Splice[]
  /** Whether an item can have a cache mark; the position is undefined for one that we insert. @default none can */
  mayCarry?(item: Item, position: P | undefined): boolean
  /** How messages of one role are joined. @default they stay separate */
  readonly merging?: Merging
  /** The changes of a history without a list. @default there is always one */
  writeText?(conversation: Conversation, source: Source): readonly Splice[]
}

/** Encodes a conversation that a decoder of this wire, or of another wire, has read. */
export function encoder<P extends Position>(wire: BodyWriting<P>): (conversation: Conversation) => Written {
  const { format, decode } = wire.body

  function encode(conversation: Conversation): Written {
    if (conversation.format !== format) return foreign(conversation)
    const { changes } = conversation
    const source = sourceOf(conversation)
    const { front, splices } = changes === undefined ? { splices: [] } : wire.envelope(changes, source)
    const history = historySplices(wire, encode, conversation, front)
    const text = spliceText(source.text, [...history, ...splices])
    return {
      text: wire.merging === undefined || history.length === 0 ? text : merged(wire.merging, source, text),
      losses: [],
    }
  }

  /** Writes another wire's conversation. Changes to the envelope are then made as for this wire's own bodies. */
  function foreign(conversation: Conversation): Written {
    const written = wire.write(draftOf(conversation))
    if (conversation.changes === undefined) return written
    // The added tools are among those that were written.
    const { addTools: _, ...changes } = conversation.changes
    return { text: encode({ ...decode(written.text), changes }).text, losses: written.losses }
  }

  function merged(merging: Merging, { root }: Source, text: string): string {
    const [before, now] = [root, indexJson(text)].map(
      (body) => body.below(wire.body.listPath(body.value as Fields))?.items ?? [],
    )
    return spliceText(text, mergeNeighbours(merging, before!, now!))
  }

  return encode
}

function historySplices<P extends Position>(
  wire: BodyWriting<P>,
  encode: (conversation: Conversation) => Written,
  conversation: Conversation,
  front: string | undefined,
): readonly Splice[] {
  const { positionOf, listIn } = wire.body
  const source = sourceOf(conversation)
  if (conversation.items === source.items && front === undefined) return []
  const list = listIn(conversation)
  if (wire.writeText !== undefined && list?.type !== 'array') return wire.writeText(conversation, source)
  const messages = groupByMessage(conversation.items, (item) => positionOf(item) !== undefined)
  const marks = movedMarks(wire, source, messages)
  const changes: Splice[] = []
  const written = messages.map((message): ArrayPart => {
    if (message.own === undefined) {
      if ('restored' in message) return writeRestored(encode, message.restored)
      return wire.inserted(message.inserted, marks.get(message.inserted.id))
    }
    changes.push(...wire.within(source, elementAt(list, message.own)!, message.kept, marks))
    return message.own
  })
  const count = list!.type === 'array' ? list!.length : 1
  const head = Array.from({ length: source.headCount }, (_, i) => i)
  const parts: ArrayPart[] = [...(front === undefined ? [] : [front]), ...head, ...written]
  const isSame = parts.length === count && parts.every((part, i) => part === i)
  return isSame ? changes : [...changes, ...spliceList(source.text, list!, parts)]
}

/**
 * Moves the marks of dropped blocks to the nearest earlier block that stays and can have one, so that the client's cache breakpoints survive an
 * epoch. Returns the mark by item id.
 */
function movedMarks<P extends Position>(
  { body, mayCarry }: BodyWriting<P>,
  { text, root, items }: Source,
  messages: readonly OutgoingMessage[],
): Marks {
  const keys = body.markKeys
  const moved = new Map<string, CacheMark>()
  if (mayCarry === undefined || !keys.some((key) => text.includes(`"${key}"`))) return moved
  const nodeOf = (item: Item): JsonNode | undefined => {
    const position = body.positionOf(item)
    return position && body.nodeAt(root, position)
  }
  // Restored items are written without changes.
  const carriers = messages.flatMap((message) =>
    message.own !== undefined ? message.kept : 'inserted' in message ? [message.inserted] : [],
  )
  const kept = new Set(carriers.map(({ id }) => id))
  const places = carriers.map((item) => nodeOf(item)?.start ?? -1)
  // An inserted item has no position of its own: it comes right after the item before it, before all items dropped there.
  for (const [i, place] of places.entries()) if (place === -1) places[i] = (places[i - 1] ?? -1) + 1
  for (const dropped of items) {
    const node = kept.has(dropped.id) ? undefined : nodeOf(dropped)
    for (const key of keys) {
      const mark = member(node, key)
      if (node === undefined || (mark?.value ?? null) === null) continue
      const isFree = (item: Item): boolean => {
        const own = nodeOf(item)
        const isMarked = keys.some((other) => member(own, other) !== undefined)
        return !moved.has(item.id) && mayCarry(item, body.positionOf(item)) && !isMarked
      }
      const target = carriers.findLast((item, i) => places[i]! < node.start && isFree(item))
      if (target !== undefined) moved.set(target.id, { key, json: mark!.raw })
    }
  }
  return moved
}

/** How the elements of a message are edited, on wires whose items are such elements. */
export interface ElementEdits<P extends Position> {
  readonly body: Decoder<P>
  edit(source: Source, item: Item, mark: CacheMark | undefined): readonly Splice[]
}

/** A picture or unknown element has no text to replace, so a text element replaces it and takes its mark. */
export const isReplaced = ({ kind, edited }: Item): boolean =>
  edited === true && (kind === 'media' || kind === 'opaque')

/** Drops elements of a message, edits others, and sets marks. */
export function elementSplices<P extends Position>(
  { body, edit }: ElementEdits<P>,
  source: Source,
  elements: JsonNode | undefined,
  kept: readonly Item[],
  marks: Marks = new Map(),
): readonly Splice[] {
  const positions = kept.map((item) => body.positionOf(item)!)
  const splices: Splice[] = []
  if (kept.length < source.itemsOf[positions[0]!.message]!.length) {
    const left = positions.map(({ index }) => index)
    splices.push(...spliceArray(source.text, elements!, left))
  }
  for (const [at, item] of kept.entries()) {
    const mark = marks.get(item.id)
    if (item.edited === true) splices.push(...edit(source, item, mark))
    if (mark !== undefined && !isReplaced(item))
      splices.push(spliceMember(body.nodeAt(source.root, positions[at]!), mark.key, mark.json))
  }
  return splices
}

/** Members of an object to set, as JSON; undefined removes one. */
export type Members = Map<string, string | undefined>

/** How a wire declares tools and restricts which may be called. */
export interface ToolWords {
  readonly key: string
  nameOf(tool: unknown): string
  declare(tool: NonNullable<EnvelopeChanges['addTools']>[number]): object
  readonly choiceKey: string
  /** JSON of the choice that forbids calls. A wire without one removes the tools in a turn without calls. */
  readonly none?: string
  /** Forbids calls only if required, because another choice invalidates the cached messages. */
  readonly forbidsStrictly?: true
  /** JSON of the choice that leaves calls to the model. */
  readonly auto: string
  /** The tools that a choice names. */
  choiceNames(choice: unknown): readonly string[]
}

/** Keeps only the tools that a turn may have, and adds ours. */
export function toolSplices(
  { root, text }: Source,
  changes: EnvelopeChanges,
  members: Members,
  wire: ToolWords,
): Splice[] {
  const tools = member(root, wire.key)
  const own = tools?.items ?? []
  const added = (changes.addTools ?? []).map((tool) => JSON.stringify(wire.declare(tool)))
  const nameAt = (i: number): string => wire.nameOf(own[i]!.value)
  const stay = own.map((_, i) => i).filter((i) => changes.keepTools?.includes(nameAt(i)) ?? true)
  const isNone = stay.length + added.length === 0
  if (wire.none === undefined && (isNone || changes.forbidTools === true)) {
    if (tools?.type === 'array') members.set(wire.key, undefined)
    return []
  }
  // A history with calls needs its tools declared, and the cached prefix contains them, so the list stays and the choice forbids calls.
  if (changes.keepTools !== undefined && isNone) {
    if (own.length > 0) members.set(wire.choiceKey, wire.none)
    return []
  }
  const left = new Set(stay.map(nameAt))
  if (wire.choiceNames(member(root, wire.choiceKey)?.value).some((name) => !left.has(name)))
    members.set(wire.choiceKey, wire.auto)
  const isForbidden = changes.forbidTools === 'strictly' || (changes.forbidTools === true && !wire.forbidsStrictly)
  if (isForbidden && own.length > 0) members.set(wire.choiceKey, wire.none)
  if (tools?.type !== 'array') {
    if (added.length > 0) members.set(wire.key, `[${added.join(',')}]`)
    return []
  }
  return added.length > 0 || stay.length < own.length ? spliceArray(text, tools, [...stay, ...added]) : []
}

/** Appends an instruction to a text that may be empty or absent. */
export function withInstruction(before: unknown, instruction: string): string {
  const words = stringOf(before) ?? ''
  return JSON.stringify(words === '' ? instruction : `${words}\n\n${instruction}`)
}

/** Appends to the instructions in the first messages, or adds a new first message. */
export function instructionInMessages({ root, headCount }: Source, instruction: string | undefined): Envelope {
  if (instruction === undefined) return { splices: [] }
  const message = headCount === 0 ? undefined : member(root, 'messages')?.at(headCount - 1)
  if (message === undefined) return { splices: [], front: `{"role":"system","content":${JSON.stringify(instruction)}}` }
  const content = member(message, 'content')
  const last = content?.items?.at(-1)
  if (last === undefined)
    return { splices: [spliceMember(message, 'content', withInstruction(content?.value, instruction))] }
  const part = JSON.stringify({ type: 'text', text: instruction })
  return { splices: [{ start: last.end, end: last.end, text: `,${part}` }] }
}

/** The parts of a codec that follow from how a wire's bodies are read and written. */
export const bodyCodec = <P extends Position>(
  { format, decode, fields, fragment }: Decoder<P>,
  encode: Codec['encode'],
): Pick<Codec, 'format' | 'decode' | 'encode' | 'fields' | 'fragment'> => ({ format, decode, encode, fields, fragment })

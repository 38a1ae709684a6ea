import type { Conversation } from '../../core/conversation.ts'
import type { Item } from '../../core/item.ts'
import { recordOf, stringOf } from '../../core/values.ts'
import { type JsonNode, member } from '../json/json-index.ts'
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
import { groupByMessage, objectJson, sealedError, writeRestored } from '../kit/editing.ts'
import { writeForeign, type Written } from '../kit/writing.ts'
import { decode, FORMAT, messageAt, nodeAt, type Place, placeOf, type Source, sourceOf, toolNameOf } from './decode.ts'
import { declare, writeOllamaChat } from './write.ts'

interface EnvelopeSplices {
  /** A new first message, when there was no instruction to append to. */
  readonly front: string | undefined
  readonly splices: readonly Splice[]
}

function envelopeSplices({ changes }: Conversation, source: Source): EnvelopeSplices {
  if (changes === undefined) return { front: undefined, splices: [] }
  const { root, text } = source
  const members = new Map<string, string | undefined>()
  const splices: Splice[] = []
  if (changes.maxOutputTokens !== undefined) splices.push(...capSplices(root, changes.maxOutputTokens, members))
  const tools = member(root, 'tools')
  const own = tools?.items ?? []
  const added = (changes.addTools ?? []).map((tool) => JSON.stringify(declare(tool)))
  // This wire cannot say that a tool may not be called: a turn without tools declares none.
  const isForbidden = changes.forbidTools === true
  const stay = own
    .map((_, i) => i)
    .filter((i) => !isForbidden && (changes.keepTools?.includes(toolNameOf(own[i]!.value)) ?? true))
  if (tools?.type !== 'array') {
    if (added.length > 0 && !isForbidden) members.set('tools', `[${added.join(',')}]`)
  } else if (stay.length + added.length === 0 || isForbidden) members.set('tools', undefined)
  else if (added.length > 0 || stay.length < own.length) splices.push(...spliceArray(text, tools, [...stay, ...added]))
  let front: string | undefined
  if (changes.addInstruction !== undefined) {
    const last = messageAt(root, source.headCount - 1)
    if (source.headCount === 0 || last === undefined) {
      front = `{"role":"system","content":${JSON.stringify(changes.addInstruction)}}`
    } else splices.push(instructionSplice(last, changes.addInstruction))
  }
  return { front, splices: [...splices, ...spliceMembers(root, members)] }
}

function capSplices(root: JsonNode, cap: number, members: Map<string, string | undefined>): Splice[] {
  const options = member(root, 'options')
  if (options !== undefined && recordOf(options.value) !== undefined)
    return [spliceMember(options, 'num_predict', String(cap))]
  members.set('options', JSON.stringify({ num_predict: cap }))
  return []
}

function instructionSplice(message: JsonNode, instruction: string): Splice {
  const before = stringOf(member(message, 'content')?.value) ?? ''
  return spliceMember(message, 'content', JSON.stringify(before === '' ? instruction : `${before}\n\n${instruction}`))
}

export function encode(conversation: Conversation): Written {
  if (conversation.format !== FORMAT) return writeForeign(conversation, writeOllamaChat, { decode, encode })
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
  const parts: ArrayPart[] = [
    ...(front === undefined ? [] : [front]),
    ...Array.from({ length: source.headCount }, (_, i) => i),
  ]
  const splices: Splice[] = []
  for (const message of groupByMessage(conversation.items, (item) => placeOf(item) !== undefined)) {
    if (message.own === undefined) {
      parts.push('restored' in message ? writeRestored(encode, message.restored) : insertedMessage(message.inserted))
    } else {
      parts.push(message.own)
      splices.push(...messageSplices(source, list.at(message.own)!, message.kept))
    }
  }
  if (parts.length !== list.length || parts.some((part, i) => part !== i)) {
    splices.push(...spliceArray(source.text, list, parts))
  }
  return splices
}

const insertedMessage = (item: Item): string =>
  `{"role":"${item.role === 'assistant' ? 'assistant' : 'user'}","content":${jsonTextOf(item)}}`

/** An edit replaces only its own member; unknown keys beside it stay as they came. */
function messageSplices({ text, root, itemsOf }: Source, node: JsonNode, kept: readonly Item[]): Splice[] {
  const read = itemsOf[kept[0]!.message]!
  if (kept.length === read.length && !kept.some((item) => item.edited === true)) return []
  const changes = new Map<string, string | undefined>()
  const splices: Splice[] = []
  const stays = (item: Item): boolean => kept.some(({ id }) => id === item.id)
  for (const item of read) {
    const { part } = placeOf(item)!
    if (stays(item) || (part !== 'content' && part !== 'thinking')) continue
    // The server wants the member even where a message only calls.
    changes.set(part, part === 'content' ? '""' : undefined)
  }
  const said: string[] = []
  for (const item of kept) {
    if (item.edited !== true) continue
    if (item.sealed === true) throw sealedError(item)
    const place = placeOf(item)!
    if (item.kind === 'call') splices.push(callSplice(nodeAt(root, place), item.text))
    // A picture cannot become text where it stands: its words go behind those of the message.
    else if (place.part === 'images') said.push(item.text)
    else changes.set(place.part === 'message' ? 'content' : place.part, jsonTextOf(item))
  }
  if (said.length > 0) changes.set('content', JSON.stringify([...wordsOf(node, kept), ...said].join('\n\n')))
  splices.push(
    ...listSplices(text, node, kept, 'images', changes),
    ...listSplices(text, node, kept, 'tool_calls', changes),
  )
  return [...splices, ...spliceMembers(node, changes)]
}

/** The text that a message keeps, as it is or as it was edited. */
function wordsOf(node: JsonNode, kept: readonly Item[]): string[] {
  const own = kept.find((item) => placeOf(item)!.part === 'content')
  const text =
    own?.edited === true ? own.text : own === undefined ? '' : (stringOf(member(node, 'content')?.value) ?? '')
  return text === '' ? [] : [text]
}

function listSplices(
  text: string,
  node: JsonNode,
  kept: readonly Item[],
  key: Extract<Place['part'], 'images' | 'tool_calls'>,
  changes: Map<string, string | undefined>,
): Splice[] {
  const list = member(node, key)
  if (list?.type !== 'array') return []
  const left = kept.flatMap((item) => {
    const { part, index } = placeOf(item)!
    return part === key && !(key === 'images' && item.edited === true) ? [index] : []
  })
  if (left.length === list.length) return []
  if (left.length > 0) return spliceArray(text, list, left)
  changes.set(key, undefined)
  return []
}

/** Arguments are an object on this wire. */
function callSplice(call: JsonNode, text: string): Splice {
  const body = member(call, 'function') ?? call
  return spliceMember(body, 'arguments', objectJson(text))
}

import type { Conversation } from '../../core/conversation.ts'
import type { Item } from '../../core/item.ts'
import { stringOf } from '../../core/values.ts'
import { member, type JsonNode } from '../json/json-index.ts'
import { jsonTextOf } from '../json/json-text.ts'
import {
  inOrder,
  spliceArray,
  spliceMember,
  spliceMembers,
  spliceSized,
  type ArrayPart,
  type Splice,
} from '../json/splice.ts'
import { writeForeign, type Written } from '../kit/cross.ts'
import { groupByMessage } from '../kit/outgoing.ts'
import { writeRestored } from '../kit/restored.ts'
import { objectJson, sealedError } from '../kit/sealed.ts'
import { decode } from './decode.ts'
import { envelopeSplices } from './envelope.ts'
import { FORMAT, nodeAt, placeOf, sourceOf, type Place, type Source } from './source.ts'
import { writeOllamaChat } from './write.ts'

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

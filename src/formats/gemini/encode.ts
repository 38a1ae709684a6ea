import type { Conversation } from '../../core/conversation.ts'
import type { Item } from '../../core/item.ts'
import { writeForeign, type Written } from '../kit/cross.ts'
import { member, type JsonNode } from '../json/json-index.ts'
import { jsonTextOf } from '../json/json-text.ts'
import { groupByMessage } from '../kit/outgoing.ts'
import { haveOnly, joinContents, mergeNeighbours, type RawMessage } from '../kit/same-role.ts'
import { writeRestored } from '../kit/restored.ts'
import { objectJson, sealedError } from '../kit/sealed.ts'
import { inOrder, spliceArray, spliceMembers, spliceSized, type ArrayPart, type Splice } from '../json/splice.ts'
import { decode } from './decode.ts'
import { envelopeSplices } from './envelope.ts'
import { spliceList } from './lists.ts'
import { textKeyOf } from './read-part.ts'
import {
  FORMAT,
  elementAt,
  field,
  fieldEntry,
  listOf,
  nodeAt,
  placeOf,
  rootOf,
  sourceOf,
  type Source,
} from './source.ts'
import { writeGemini } from './write.ts'

export function encode(conversation: Conversation): Written {
  if (conversation.format !== FORMAT) return writeForeign(conversation, writeGemini, { decode, encode })
  const source = sourceOf(conversation)
  const splices = [...historySplices(conversation, source), ...envelopeSplices(conversation, source)]
  return { losses: [], ...spliceSized(source, splices) }
}

export const envelope = (conversation: Conversation): readonly Splice[] =>
  inOrder(envelopeSplices(conversation, sourceOf(conversation)))

function historySplices(conversation: Conversation, source: Source): Splice[] {
  if (conversation.items === source.items) return []
  const list = member(rootOf(source.body), 'contents')!
  const written: ArrayPart[] = []
  const changes: Splice[] = []
  const messages = groupByMessage(conversation.items, (item) => placeOf(item) !== undefined)
  for (const message of messages) {
    if (message.own === undefined) {
      written.push('restored' in message ? writeRestored(encode, message.restored) : insertedContent(message.inserted))
      continue
    }
    written.push(message.own)
    if (message.kept.length < source.itemsOf[message.own]!.length) {
      const held = field(elementAt(list, message.own), 'parts')!
      const left = message.kept.map((item) => placeOf(item)!.index)
      changes.push(...spliceArray(source.text, held, left))
    }
    for (const item of message.kept) if (item.edited === true) changes.push(...editSplices(source, item))
  }
  const { parts, splices: within } = mergeNeighbours(
    { messages, parts: written, splices: changes },
    {
      text: source.text,
      count: listOf(list.value).length,
      nodeOf: (own) => elementAt(list, own)!,
      merge,
      assistant: 'model',
    },
  )
  const splices = [...within]
  if (parts.length !== listOf(list.value).length || parts.some((part, i) => part !== i)) {
    splices.push(...spliceList(source.text, list, parts))
  }
  return splices
}

/** What the model said may be signed, and stays as it was written. */
function merge(role: string, messages: readonly RawMessage[]): string | undefined {
  if (role !== 'user' || !haveOnly(messages, ['role', 'parts'])) return undefined
  const parts = joinContents(messages.map((message) => message.raw('parts')))
  // Answers to calls are counted against the calls, and stand alone.
  return /"function_?[rR]esponse"/.test(parts) ? undefined : `{"role":"user","parts":${parts}}`
}

const insertedContent = (item: Item): string =>
  `{"role":"${item.role === 'assistant' ? 'model' : 'user'}","parts":[{"text":${jsonTextOf(item)}}]}`

/** An edit replaces only its own field; ids, names and unknown keys beside it stay as they came. */
function editSplices({ body }: Source, item: Item): Splice[] {
  const place = placeOf(item)!
  const node = nodeAt(body, place)
  const json = jsonTextOf(item)
  if (item.sealed === true && item.kind !== 'opaque') throw sealedError(item)
  if (place.shape === 'content') return spliceMembers(node, new Map([['parts', `[{"text":${json}}]`]]))
  if (item.kind === 'call') {
    return spliceMembers(field(node, 'functionCall')!, new Map([['args', objectJson(item.text)]]))
  }
  if (item.kind === 'result') return responseSplices(field(node, 'functionResponse')!, json)
  if (item.kind === 'media' || item.kind === 'opaque')
    return [{ start: node.start, end: node.end, text: `{"text":${json}}` }]
  const changes = new Map<string, string | undefined>([['text', json]])
  // The signature spoke for the text that stood here; with other text it goes.
  const signature = fieldEntry(node, 'thoughtSignature')
  if (signature !== undefined) changes.set(signature.key, undefined)
  return spliceMembers(node, changes)
}

function responseSplices(response: JsonNode, json: string): Splice[] {
  const body = member(response, 'response')
  const changes = new Map<string, string | undefined>()
  const splices: Splice[] = []
  const key = textKeyOf(body?.value as Record<string, unknown> | undefined)
  const held = key === undefined ? undefined : member(body, key)
  if (held === undefined) changes.set('response', `{"output":${json}}`)
  else splices.push({ start: held.start, end: held.end, text: json })
  // Pictures inside the result leave with its text.
  if (member(response, 'parts') !== undefined) changes.set('parts', undefined)
  return [...splices, ...spliceMembers(response, changes)]
}

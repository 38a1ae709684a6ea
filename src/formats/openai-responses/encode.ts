import type { Conversation } from '../../core/conversation.ts'
import type { Item } from '../../core/item.ts'
import { markJson, moveCacheMarks, partAt, type CacheMark, type MarkedWire } from '../kit/cache-marks.ts'
import { writeForeign, type Written } from '../kit/cross.ts'
import { member, rawText } from '../json/json-index.ts'
import { jsonTextOf } from '../json/json-text.ts'
import { groupByMessage } from '../kit/outgoing.ts'
import { writeRestored } from '../kit/restored.ts'
import { inOrder, spliceArray, spliceMember, spliceSized, type ArrayPart, type Splice } from '../json/splice.ts'
import { decode } from './decode.ts'
import { editSplice, needsNewPart } from './edit.ts'
import { envelopeSplices } from './envelope.ts'
import { FORMAT, MARK_KEYS, nodeAt, placeOf, sourceOf, type Source } from './source.ts'
import { writeOpenaiResponses } from './write.ts'

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

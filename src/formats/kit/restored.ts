import type { Codec } from '../../core/codec.ts'
import type { Conversation } from '../../core/conversation.ts'
import type { Item } from '../../core/item.ts'
import type { Written } from './cross.ts'

/**
 * Items that a body does not have and that are written into it again as their own wire wrote them. They were read from messages of their
 * own, which is where they are written from: whole, or without what was dropped and edited since.
 */
interface Place {
  readonly messages: Conversation
  readonly item: Item
}

const FORMAT = 'restored'

const placeOf = ({ origin }: Item): Place | undefined =>
  origin?.format === FORMAT ? (origin.value as Place) : undefined

export const isRestored = (item: Item): boolean => item.origin?.format === FORMAT

/** Whether two items stand in the same messages. */
export const isBeside = (a: Item, b: Item): boolean => placeOf(a)?.messages === placeOf(b)?.messages

/** Reads messages of a wire as items for another body; `list` is the member that holds its history. */
export function readMessages(
  codec: Pick<Codec, 'decode'>,
  list: string,
  messages: readonly unknown[],
  id: string,
): readonly Item[] {
  const read = codec.decode(JSON.stringify({ [list]: messages }))
  return read.items.map((item, i) => ({
    ...item,
    id: `${id}.${i}`,
    // Below those of items that we insert: each message keeps a number of its own.
    message: -2 - item.message,
    origin: { format: FORMAT, value: { messages: read, item } },
  }))
}

/** The elements of the history that these items, which stand beside each other, are written as. */
export function writeRestored(encode: (conversation: Conversation) => Written, items: readonly Item[]): string {
  const { messages } = placeOf(items[0]!)!
  const own = items.map((item) => {
    const original = placeOf(item)!.item
    if (item.edited !== true) return original
    const { media: _, ...rest } = original
    return { ...rest, text: item.text, edited: true as const }
  })
  const isWhole = own.length === messages.items.length && own.every((item, i) => item === messages.items[i])
  const { text } = encode(isWhole ? messages : { ...messages, items: own })
  return text.slice(text.indexOf('[') + 1, text.lastIndexOf(']'))
}

/** The wire text that a restored item was read from; empty for any other. */
export function restoredFragment(item: Item, fragmentOf: (conversation: Conversation, item: Item) => string): string {
  const place = placeOf(item)
  return place === undefined ? '' : fragmentOf(place.messages, place.item)
}

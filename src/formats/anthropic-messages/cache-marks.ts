import type { Item } from '../../core/item.ts'
import { member, rawText } from '../json-index.ts'
import type { OutgoingMessage } from '../outgoing.ts'
import { messagesOf, nodeAt, placeOf, type Source } from './wire.ts'

/**
 * Marks of dropped blocks move to the nearest block before them that stays and may carry one, so that the client's cache
 * breakpoints survive an epoch. Returns the mark's JSON text by item id.
 */
export function moveCacheMarks(source: Source, messages: readonly OutgoingMessage[]): ReadonlyMap<string, string> {
  const moved = new Map<string, string>()
  const orphaned = droppedMarks(source, messages)
  if (orphaned.length === 0) return moved
  const carriers: Item[] = messages.flatMap((message) =>
    message.own === undefined ? [message.inserted] : message.kept,
  )
  const startOf = (item: Item): number => {
    const place = placeOf(item)
    return place === undefined ? -1 : nodeAt(source.root, place).start
  }
  const places = carriers.map(startOf)
  // An inserted item has no place of its own: it stands where the next kept one begins.
  for (let i = places.length - 1; i >= 0; i--)
    if (places[i] === -1) places[i] = (places[i + 1] ?? source.text.length) - 1
  for (const { at, mark } of orphaned) {
    const target = carriers.findLast((item, i) => places[i]! < at && mayCarry(source, item) && !moved.has(item.id))
    if (target !== undefined) moved.set(target.id, mark)
  }
  return moved
}

function droppedMarks(source: Source, messages: readonly OutgoingMessage[]): { at: number; mark: string }[] {
  if (!source.text.includes('cache_control')) return []
  const kept = new Set<number>()
  for (const message of messages) {
    if (message.own !== undefined) for (const item of message.kept) kept.add(nodeAt(source.root, placeOf(item)!).start)
  }
  const out: { at: number; mark: string }[] = []
  for (const message of messagesOf(source.root)) {
    for (const block of member(message, 'content')?.items ?? []) {
      const mark = member(block, 'cache_control')
      if (mark !== undefined && mark.value !== null && !kept.has(block.start))
        out.push({ at: block.start, mark: rawText(source.text, mark) })
    }
  }
  return out
}

/**
 * Thinking cannot carry a mark, empty text is refused with one, a plain string has no room for it, opaque blocks stay as they
 * came, and a block keeps the mark that it already has.
 */
function mayCarry({ root }: Source, item: Item): boolean {
  const place = placeOf(item)
  if (place === undefined) return true
  const isEmpty = item.text === '' && item.media === undefined
  return !place.bare && item.sealed !== true && !isEmpty && member(nodeAt(root, place), 'cache_control') === undefined
}

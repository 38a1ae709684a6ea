import type { Item } from '../../core/item.ts'
import { noteGrowth } from '../../util/grown-lists.ts'

/** What was read of a body: the items of each message, and those behind the head in one list. */
export interface ReadItems {
  readonly items: readonly Item[]
  readonly itemsOf: readonly (readonly Item[])[]
  /** Messages of the head. @default 0 */
  readonly headCount?: number
}

/** The instructions that a list of messages begins with stand in no message. */
export const headOf = (itemsOf: readonly (readonly Item[])[], headCount: number): Item[] =>
  itemsOf.slice(0, headCount).flatMap((read) => read.map((item) => ({ ...item, message: -1 })))

/** Whether an earlier body, of whose messages the first `kept` are these, has the same head. */
export const isHeadKept = (headCount: number, known: ReadItems | undefined, kept: number): boolean =>
  known !== undefined && kept >= headCount && (known.headCount ?? 0) === headCount

/**
 * The items behind the head in one list. `kept` messages at the start are those of an earlier body, whose own list is taken over: put
 * together message by message it would cost more with every turn.
 */
export function itemsBehindHead(
  itemsOf: readonly (readonly Item[])[],
  headCount: number,
  known: ReadItems | undefined,
  kept: number,
): Item[] {
  const isTakenOver = known !== undefined && kept > headCount && (known.headCount ?? 0) === headCount
  const added: Item[] = []
  for (let at = isTakenOver ? kept : headCount; at < itemsOf.length; at++)
    for (const item of itemsOf[at]!) added.push(item)
  if (!isTakenOver) return added
  const gone = countFrom(known.itemsOf, kept)
  if (gone > 0) return known.items.slice(0, known.items.length - gone).concat(added)
  const items = known.items.concat(added)
  noteGrowth(known.items, items)
  return items
}

function countFrom(itemsOf: readonly (readonly Item[])[], from: number): number {
  let count = 0
  for (let at = from; at < itemsOf.length; at++) count += itemsOf[at]!.length
  return count
}

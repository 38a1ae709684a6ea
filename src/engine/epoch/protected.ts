import type { Link } from '../../core/chain.ts'
import type { Item } from '../../core/item.ts'
import { newestUserIndex, openStepStart, type Turns } from '../../core/turns.ts'

/** What no reduction may fold away, by item index. */
export interface Protected {
  readonly keep: ReadonlySet<number>
  /** The part of `keep` that stays even where everything else is quoted: pins and instructions inside the history. */
  readonly pinned: ReadonlySet<number>
  readonly openFrom: number
}

/** Longer answers than this are not kept for the sake of the question that they end with. */
const QUESTION_CHARACTERS = 2_000

/**
 * The task (first user message), the newest user message with the question that it answers, the open tool step, pending
 * calls of the newest step, pins, and instructions that stand inside the history.
 */
export function protectedItems(
  items: readonly Item[],
  links: readonly Link[],
  turns: Turns,
  pins: ReadonlySet<string>,
): Protected {
  const chained = new Set(links.map((link) => link.index))
  const openFrom = openStepStart(items, turns)
  const keep = new Set<number>()
  const task = items.findIndex((item, index) => item.kind === 'user' && chained.has(index))
  if (task >= 0) keepMessage(items, task, keep)
  const newest = newestUserIndex(items, (_, index) => !chained.has(index))
  if (newest >= 0) {
    keepMessage(items, newest, keep)
    const before = items[newest - 1]
    if (before?.kind === 'assistant' && before.text.length <= QUESTION_CHARACTERS) keep.add(newest - 1)
  }
  const pinned = new Set<number>()
  for (const [index, item] of items.entries()) {
    if (index >= openFrom || item.kind === 'instruction') keep.add(index)
    if (item.kind === 'instruction') pinned.add(index)
  }
  // The provider's own compaction is all that it knows of what stood before.
  const compaction = items.findLastIndex(({ standsForPrefix }) => standsForPrefix === true)
  if (compaction >= 0) {
    keep.add(compaction)
    pinned.add(compaction)
  }
  for (const link of links) {
    if (!pins.has(link.identity)) continue
    keep.add(link.index)
    pinned.add(link.index)
  }
  return { keep, pinned, openFrom }
}

/** Pictures and documents beside a user's words belong to them; results in the same message do not. */
function keepMessage(items: readonly Item[], index: number, keep: Set<number>): void {
  const { message } = items[index]!
  for (let i = index; i >= 0 && items[i]!.message === message; i--) if (isUserPart(items[i]!)) keep.add(i)
  for (let i = index + 1; i < items.length && items[i]!.message === message; i++) if (isUserPart(items[i]!)) keep.add(i)
}

const isUserPart = (item: Item): boolean => item.role === 'user' && (item.kind === 'user' || item.kind === 'media')

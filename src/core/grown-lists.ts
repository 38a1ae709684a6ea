import type { Item } from './item.ts'

/** How many items two lists share from the start, as the very same objects. Lists never change once they are made. */
export function sharedItems(a: readonly Item[], b: readonly Item[]): number {
  const line = lines.get(a)
  const most = Math.min(a.length, b.length)
  if (a === b || (line !== undefined && line === lines.get(b))) return most
  let at = 0
  while (at < most && a[at] === b[at]) at++
  if (at === most && at > 0) noteGrowth(a.length <= b.length ? [a, b] : [b, a])
  return at
}

/**
 * Lists of which each is the one before and more. Nobody has to compare two of them: a conversation is one such line, and item by item
 * the comparison would cost more with every turn.
 */
interface Line {
  /** Of the longest list. */
  length: number
}

const lines = new WeakMap<readonly Item[], Line>()

function noteGrowth([short, long]: readonly [readonly Item[], readonly Item[]]): void {
  const [before, after] = [lines.get(short), lines.get(long)]
  if (after !== undefined) {
    if (before === undefined) lines.set(short, after)
    return
  }
  const line = before ?? { length: short.length }
  // A list that a longer one has grown from already is where two histories part.
  if (line.length !== short.length) return
  line.length = long.length
  lines.set(short, line)
  lines.set(long, line)
}

/** A history and its reduced view begin alike; so do two sub-agents of one task. */
const LISTS_PER_BEGINNING = 4

/** What was worked out for lists of items, found again for a list that begins as one of them does. */
export interface GrownLists<T> {
  /** The list that shares most with this one, and how much that is. */
  nearest(items: readonly Item[]): Near<T> | undefined
  /** Takes the place of `near`, if this list grew from it. */
  keep(items: readonly Item[], value: T, near: Near<T> | undefined): void
}

export interface Near<T> {
  readonly items: readonly Item[]
  readonly value: T
  readonly shared: number
  /** The whole list is shared: the new one takes its place, and its value may be taken over and added to. */
  readonly isOutgrown: boolean
}

/** Nothing is held beyond the life of a list's first item. */
export function createGrownLists<T>(): GrownLists<T> {
  const byBeginning = new WeakMap<Item, Pick<Near<T>, 'items' | 'value'>[]>()
  return {
    nearest(items) {
      let best: Near<T> | undefined
      for (const known of (items[0] !== undefined && byBeginning.get(items[0])) || []) {
        const shared = sharedItems(known.items, items)
        if (shared > (best?.shared ?? 0)) best = { ...known, shared, isOutgrown: shared === known.items.length }
      }
      return best
    },
    keep(items, value, near) {
      const [first] = items
      if (first === undefined) return
      const lists = byBeginning.get(first) ?? []
      if (near?.isOutgrown === true)
        lists.splice(
          lists.findIndex((known) => known.items === near.items),
          1,
        )
      else if (lists.length >= LISTS_PER_BEGINNING) lists.shift()
      lists.push({ items, value })
      byBeginning.set(first, lists)
    },
  }
}

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

/** A history and its reduced view begin alike, and end alike; so do two sub-agents of one task. */
const LISTS_PER_ITEM = 4

/** What was worked out for lists of items, found again for a list that begins as one of them does. */
export interface PrefixMemo<T> {
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

/**
 * Found by the item that a list ends with, which a list that grew from it has in the same place; else by the one that it begins with,
 * which conversations of one system prompt may share by the thousand. Nothing is held beyond the life of those items.
 */
export function createPrefixMemo<T>(): PrefixMemo<T> {
  const byEnd = new WeakMap<Item, Known<T>[]>()
  const byBeginning = new WeakMap<Item, Known<T>[]>()
  return {
    nearest(items) {
      for (let at = items.length - 1; at >= 0; at--) {
        for (const known of byEnd.get(items[at]!) ?? []) {
          if (known.items.length === at + 1 && sharedItems(known.items, items) === at + 1)
            return { ...known, shared: at + 1, isOutgrown: true }
        }
      }
      let best: Near<T> | undefined
      for (const known of (items[0] !== undefined && byBeginning.get(items[0])) || []) {
        const shared = sharedItems(known.items, items)
        if (shared > (best?.shared ?? 0)) best = { ...known, shared, isOutgrown: shared === known.items.length }
      }
      return best
    },
    keep(items, value, near) {
      const [first, last] = [items[0], items.at(-1)]
      if (first === undefined || last === undefined) return
      const known = { items, value }
      // A value that was taken over must not be found for another list any more, and a list has one value.
      if (near?.isOutgrown === true) {
        forget(byBeginning, first, near)
        forget(byEnd, near.items.at(-1)!, near)
      }
      forget(byBeginning, first, known)
      forget(byEnd, last, known)
      add(byBeginning, first, known)
      add(byEnd, last, known)
    },
  }
}

type Known<T> = Pick<Near<T>, 'items' | 'value'>

function add<T>(map: WeakMap<Item, Known<T>[]>, item: Item, known: Known<T>): void {
  const lists = map.get(item) ?? []
  if (lists.length >= LISTS_PER_ITEM) lists.shift()
  lists.push(known)
  map.set(item, lists)
}

function forget<T>(map: WeakMap<Item, Known<T>[]>, item: Item, { items, value }: Known<T>): void {
  const lists = map.get(item)
  if (lists === undefined) return
  const left = lists.filter((known) => known.items !== items && known.value !== value)
  if (left.length < lists.length) map.set(item, left)
}

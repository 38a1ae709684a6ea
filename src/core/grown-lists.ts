import type { Item } from './item.ts'

/** How many items two lists share from the start, as the very same objects. */
export function sharedItems(a: readonly Item[], b: readonly Item[]): number {
  const most = Math.min(a.length, b.length)
  let at = 0
  while (at < most && a[at] === b[at]) at++
  return at
}

/** A history and its reduced view begin alike, and end alike; so do two sub-agents of one task. */
const LISTS_PER_ITEM = 4

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
}

/**
 * Found by the item that a list ends with, which a list that grew from it has in the same place; else by the one that it begins with,
 * which conversations of one system prompt may share by the thousand. Nothing is held beyond the life of those items.
 */
export function createGrownLists<T>(): GrownLists<T> {
  const byEnd = new WeakMap<Item, Known<T>[]>()
  const byBeginning = new WeakMap<Item, Known<T>[]>()
  const longest = (lists: readonly Known<T>[], items: readonly Item[]): Near<T> | undefined => {
    let best: Near<T> | undefined
    for (const known of lists) {
      const shared = sharedItems(known.items, items)
      if (shared > (best?.shared ?? 0)) best = { ...known, shared }
    }
    return best
  }
  return {
    nearest(items) {
      for (let at = items.length - 1; at >= 0; at--) {
        const ending = byEnd.get(items[at]!)?.filter((known) => known.items.length === at + 1)
        const near = ending === undefined ? undefined : longest(ending, items)
        if (near?.shared === at + 1) return near
      }
      return items[0] === undefined ? undefined : longest(byBeginning.get(items[0]) ?? [], items)
    },
    keep(items, value, near) {
      const [first, last] = [items[0], items.at(-1)]
      if (first === undefined || last === undefined) return
      if (near !== undefined && near.shared === near.items.length) {
        forget(byBeginning, first, near.items)
        forget(byEnd, near.items.at(-1)!, near.items)
      }
      const known = { items, value }
      add(byBeginning, first, known)
      add(byEnd, last, known)
    },
  }
}

type Known<T> = Omit<Near<T>, 'shared'>

function add<T>(map: WeakMap<Item, Known<T>[]>, item: Item, known: Known<T>): void {
  const lists = map.get(item) ?? []
  if (lists.length >= LISTS_PER_ITEM) lists.shift()
  lists.push(known)
  map.set(item, lists)
}

function forget<T>(map: WeakMap<Item, Known<T>[]>, item: Item, items: readonly Item[]): void {
  const lists = map.get(item) ?? []
  const at = lists.findIndex((known) => known.items === items)
  if (at !== -1) lists.splice(at, 1)
}

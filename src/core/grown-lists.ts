import type { Item } from './item.ts'

/** How many items two lists share from the start, as the very same objects. */
export function sharedItems(a: readonly Item[], b: readonly Item[]): number {
  const most = Math.min(a.length, b.length)
  let at = 0
  while (at < most && a[at] === b[at]) at++
  return at
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
}

/** Nothing is held beyond the life of a list's first item. */
export function createGrownLists<T>(): GrownLists<T> {
  const byBeginning = new WeakMap<Item, Omit<Near<T>, 'shared'>[]>()
  return {
    nearest(items) {
      let best: Near<T> | undefined
      for (const known of (items[0] !== undefined && byBeginning.get(items[0])) || []) {
        const shared = sharedItems(known.items, items)
        if (shared > (best?.shared ?? 0)) best = { ...known, shared }
      }
      return best
    },
    keep(items, value, near) {
      const [first] = items
      if (first === undefined) return
      const lists = byBeginning.get(first) ?? []
      const isOutgrown = near !== undefined && near.shared === near.items.length
      if (isOutgrown)
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

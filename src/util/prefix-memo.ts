/**
 * Memory of lists that grow: of what was worked out for one, found again for a list that begins with the very same objects. Lists never
 * change once they are made. Nothing is held beyond the life of those objects.
 */
export interface Prefixes<Item extends object> {
  memo<T>(): PrefixMemo<Item, T>
}

/** Nothing is ever known of a list: every answer is worked out anew. */
export const noPrefixes = <Item extends object>(): Prefixes<Item> => ({
  memo: () => ({ nearest: () => undefined, keep: () => undefined }),
})

export const createPrefixes = <Item extends object>(): Prefixes<Item> => ({
  memo: <T>() => createPrefixMemo<Item, T>(),
})

/** How many items two lists share from the start, as the very same objects. */
export function sharedItems<Item extends object>(a: readonly Item[], b: readonly Item[]): number {
  const most = Math.min(a.length, b.length)
  let at = a === b ? most : 0
  while (at < most && a[at] === b[at]) at++
  return at
}

/** A history and its reduced view begin alike, and end alike; so do two sub-agents of one task. */
const LISTS_PER_ITEM = 4

/** What was worked out for lists of items, found again for a list that begins as one of them does. */
interface PrefixMemo<Item, T> {
  /** The list that shares most with this one, and how much that is. */
  nearest(items: readonly Item[]): Near<Item, T> | undefined
  /** Takes the place of `near`, if this list grew from it. */
  keep(items: readonly Item[], value: T, near: Near<Item, T> | undefined): void
}

export interface Near<Item, T> {
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
function createPrefixMemo<Item extends object, T>(): PrefixMemo<Item, T> {
  const byEnd = new WeakMap<Item, Known<Item, T>[]>()
  const byBeginning = new WeakMap<Item, Known<Item, T>[]>()
  return {
    nearest(items) {
      for (let at = items.length - 1; at >= 0; at--) {
        for (const known of byEnd.get(items[at]!) ?? []) {
          if (known.items.length === at + 1 && sharedItems(known.items, items) === at + 1)
            return { items: known.items, value: known.value, shared: at + 1, isOutgrown: true }
        }
      }
      let best: Near<Item, T> | undefined
      for (const known of (items[0] !== undefined && byBeginning.get(items[0])) || []) {
        const common = sharedItems(known.items, items)
        if (common > (best?.shared ?? 0))
          best = {
            items: known.items,
            value: known.value,
            shared: common,
            isOutgrown: common === known.items.length,
          }
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

type Known<Item, T> = Pick<Near<Item, T>, 'items' | 'value'>

function add<Item extends object, T>(map: WeakMap<Item, Known<Item, T>[]>, item: Item, known: Known<Item, T>): void {
  const lists = map.get(item) ?? []
  if (lists.length >= LISTS_PER_ITEM) lists.shift()
  lists.push(known)
  map.set(item, lists)
}

function forget<Item extends object, T>(
  map: WeakMap<Item, Known<Item, T>[]>,
  item: Item,
  { items, value }: Known<Item, T>,
): void {
  const lists = map.get(item)
  if (lists === undefined) return
  const left = lists.filter((known) => known.items !== items && known.value !== value)
  if (left.length < lists.length) map.set(item, left)
}

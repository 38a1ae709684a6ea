import type { Item } from '../../core/item.ts'

/** One message of the outgoing history: its own items that stay, or a message that we insert. */
export type OutgoingMessage =
  | { readonly own: number; readonly kept: readonly Item[] }
  | { readonly own: undefined; readonly inserted: Item }

/** Items of one wire message stay together; what we insert becomes a message of its own in front of it. */
export function groupByMessage(items: readonly Item[], isOwn: (item: Item) => boolean): OutgoingMessage[] {
  const lastOf = new Map<number, number>()
  for (let i = 0; i < items.length; i++) if (isOwn(items[i]!)) lastOf.set(items[i]!.message, i)
  const out: OutgoingMessage[] = []
  let current: { own: number; kept: Item[] } | undefined
  for (let i = 0; i < items.length; i++) {
    const item = items[i]!
    if (!isOwn(item)) {
      // Between two blocks of one message there is no room for a message: it goes in front.
      const inside = current !== undefined && lastOf.get(current.own)! > i
      out.splice(inside ? -1 : out.length, 0, { own: undefined, inserted: item })
    } else if (current?.own === item.message) current.kept.push(item)
    else out.push((current = { own: item.message, kept: [item] }))
  }
  return out
}

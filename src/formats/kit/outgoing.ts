import type { Item } from '../../core/item.ts'
import { isBeside, isRestored } from './restored.ts'

/** One message of the outgoing history: its own items that stay, a message that we insert, or messages that are put back. */
export type OutgoingMessage =
  | { readonly own: number; readonly kept: readonly Item[] }
  | { readonly own: undefined; readonly inserted: Item }
  | { readonly own: undefined; readonly restored: readonly Item[] }

/** Items of one wire message stay together; what we insert becomes a message of its own in front of it. */
export function groupByMessage(items: readonly Item[], isOwn: (item: Item) => boolean): OutgoingMessage[] {
  const lastOf = new Map<number, number>()
  for (let i = 0; i < items.length; i++) if (isOwn(items[i]!)) lastOf.set(items[i]!.message, i)
  const out: OutgoingMessage[] = []
  let current: { own: number; kept: Item[] } | undefined
  let beside: Item[] | undefined
  for (let i = 0; i < items.length; i++) {
    const item = items[i]!
    if (isRestored(item)) {
      if (beside !== undefined && isBeside(beside[0]!, item)) beside.push(item)
      else out.push({ own: undefined, restored: (beside = [item]) })
    } else if (!isOwn(item)) {
      // Between two blocks of one message there is no room for a message: it goes in front.
      const inside = current !== undefined && lastOf.get(current.own)! > i
      out.splice(inside ? -1 : out.length, 0, { own: undefined, inserted: item })
    } else if (current?.own === item.message) current.kept.push(item)
    else out.push((current = { own: item.message, kept: [item] }))
  }
  return out
}

import type { Link } from '../../core/chain.ts'
import type { Item } from '../../core/item.ts'
import type { ChainedItems } from './branch/last-request.ts'

/** What a person sees of an item when choosing what to pin. */
export interface SeenItem {
  readonly identity: string
  readonly kind: string
  readonly toolName?: string
  /** The first characters. */
  readonly excerpt: string
}

/** Items of the last request. */
export const seenItems = (request: ChainedItems | undefined): SeenItem[] =>
  request === undefined ? [] : request.links.map((link) => seenItem(link, request.items[link.index]!))

function seenItem({ identity }: Link, { kind, toolName, text }: Item): SeenItem {
  return { identity, kind, ...(toolName !== undefined && { toolName }), excerpt: text.slice(0, 80) }
}

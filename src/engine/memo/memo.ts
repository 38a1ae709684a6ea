import { chainOf, extendChain, linksBefore, type Link } from '../../core/chain.ts'
import type { ClientProfile, Hash } from '../../core/identity.ts'
import type { Item } from '../../core/item.ts'
import { createPrefixes, noPrefixes, type Prefixes } from '../../util/prefix-memo.ts'
import { createRecentBodies, forgetfulBodies, type RecentBodies } from './recent-bodies.ts'

/**
 * Memory of work: what a prefix decoded to, its chain, and what it counted.
 *
 * One invariant: **it changes no byte**. Whatever is remembered is found by item objects, and a decoder gives the same object again only
 * where two bodies are the same up to it; so what was worked out for that object is what would be worked out now. A process without
 * any of it, or with `memo: false`, sends and stores the same (`test/engine/laws`).
 */
export interface Memo {
  /** Bodies that came, and those that left, as they were read before. */
  readonly bodies: RecentBodies
  /** The content chain of a history. */
  readonly chain: (items: readonly Item[]) => readonly Link[]
  /** Work found again by the beginning of a history. */
  readonly prefixes: Prefixes<Item>
}

interface MemoOptions {
  readonly hash: Hash
  readonly profile: ClientProfile
  /** What remembered bodies may take together. @default a bound of their own */
  readonly bodyBytes?: number | undefined
}

export function createMemo({ hash, profile, bodyBytes }: MemoOptions): Memo {
  const prefixes = createPrefixes<Item>()
  const chains = prefixes.memo<readonly Link[]>()
  return {
    bodies: createRecentBodies(prefixes, bodyBytes === undefined ? {} : { bytes: bodyBytes, least: 0 }),
    chain(items) {
      const near = chains.nearest(items)
      const { value: known, shared } = near ?? { value: [], shared: 0 }
      const before = known.slice(0, linksBefore(known, shared))
      const links = extendChain(before, items, shared, hash, profile)
      chains.keep(items, links, near)
      return links
    },
    prefixes,
  }
}

/** The off switch: everything is worked out anew. */
export const noMemo = ({ hash, profile }: MemoOptions): Memo => ({
  bodies: forgetfulBodies,
  chain: (items) => chainOf(items, hash, profile),
  prefixes: noPrefixes(),
})

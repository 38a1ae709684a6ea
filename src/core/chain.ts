import { type ClientProfile, type Hash, identityOf } from './identity.ts'
import type { Item } from './item.ts'

/** A chained item: its index, its identity and the hash of the history up to and including it. */
export interface Link {
  readonly index: number
  readonly identity: string
  readonly chain: string
}

const EMPTY_CHAIN = ''

/** The cached link of an item; `link` is undefined for an item outside the chain. */
interface ChainedItem {
  readonly before: string
  readonly index: number
  readonly link: Link | undefined
}

/** Caches links by item, so that only new items are hashed when a history grows. */
export type KnownLinks = WeakMap<Item, ChainedItem>

/**
 * The content chain `h[i] = H(h[i-1], identity[i])`. Reasoning is left out, because clients and vendors drop old reasoning between requests; so is
 * text that the client's profile calls volatile.
 */
export function chainOf(
  items: readonly Item[],
  hash: Hash,
  profile: ClientProfile,
  known: KnownLinks = new WeakMap(),
): readonly Link[] {
  const links: Link[] = []
  let chain = EMPTY_CHAIN
  for (const [index, item] of items.entries()) {
    if (item.kind === 'reasoning') continue
    let own = known.get(item)
    if (own?.before !== chain || own.index !== index) {
      const identity = identityOf(item, hash, profile)
      const link = identity === undefined ? undefined : { index, identity, chain: hash(chain + identity) }
      own = { before: chain, index, link }
      known.set(item, own)
    }
    if (own.link === undefined) continue
    links.push(own.link)
    chain = own.link.chain
  }
  return links
}

/** The number of leading links that two chains share, by hash and index. */
export function sharedLinks(a: readonly Link[], b: readonly Link[]): number {
  const most = Math.min(a.length, b.length)
  // A link object occurs in one history only, so lists that share it at one index share all before it.
  if (most > 0 && a[most - 1] === b[most - 1]) return most
  let at = 0
  while (at < most && isSameLink(a[at]!, b[at]!)) at++
  return at
}

const isSameLink = (one: Link, other: Link): boolean =>
  one === other || (one.chain === other.chain && one.index === other.index)

/** The key of a first-send edit. The call id alone is not enough: some providers reuse short ids in every turn. */
export const firstSendKey = (callId: string | undefined, identity: string): string => `${callId ?? ''}:${identity}`

/**
 * Finds covered items in a chain whose hash no longer matches, because the client lost, added or rewrote a few items. Identities that occur once on
 * both sides are the anchors (their longest ordered run); repeated ones ("continue", "ok") are placed between anchors, so that one that moved does
 * not shift the others.
 */
export function alignChain(covered: readonly string[], links: readonly Link[]): Alignment {
  const positions = positionsOf(links.map((link) => link.identity))
  const anchors = anchorsOf(covered, positions)
  // For each covered item the position of the next anchor: the item must be placed before it.
  const bounds = covered.map(() => links.length)
  let bound = links.length
  for (let i = covered.length - 1; i >= 0; i--) {
    bounds[i] = bound
    bound = anchors.get(i) ?? bound
  }
  const cursor = new Map<string, number>()
  const placed: (number | undefined)[] = []
  let next = 0
  let matched = 0
  for (const [i, identity] of covered.entries()) {
    const candidates = positions.get(identity) ?? []
    let c = cursor.get(identity) ?? 0
    while (c < candidates.length && candidates[c]! < next) c++
    cursor.set(identity, c)
    const free = candidates[c] ?? links.length
    const at = anchors.get(i) ?? (free < bounds[i]! ? free : undefined)
    placed.push(at)
    if (at === undefined) continue
    next = at + 1
    matched++
  }
  return { placed, matched }
}

function positionsOf(identities: readonly string[]): Map<string, number[]> {
  const positions = new Map<string, number[]>()
  for (const [at, identity] of identities.entries()) {
    const known = positions.get(identity)
    if (known === undefined) positions.set(identity, [at])
    else known.push(at)
  }
  return positions
}

/** Link positions by covered index, for the longest ordered run of identities that are unique on both sides. */
function anchorsOf(covered: readonly string[], positions: ReadonlyMap<string, readonly number[]>): Map<number, number> {
  const pairs: { readonly i: number; readonly at: number }[] = []
  for (const [identity, [i, again]] of positionsOf(covered)) {
    const found = positions.get(identity)
    if (i !== undefined && again === undefined && found?.length === 1) pairs.push({ i, at: found[0]! })
  }
  // Longest increasing run: `tails[n]` is the pair that ends the best run of length n + 1.
  const tails: number[] = []
  const before: number[] = []
  for (const [p, { at }] of pairs.entries()) {
    let low = 0
    let high = tails.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (pairs[tails[middle]!]!.at < at) low = middle + 1
      else high = middle
    }
    before.push(low === 0 ? -1 : tails[low - 1]!)
    tails[low] = p
  }
  const anchors = new Map<number, number>()
  for (let p = tails.at(-1) ?? -1; p >= 0; p = before[p]!) anchors.set(pairs[p]!.i, pairs[p]!.at)
  return anchors
}

export interface Alignment {
  /** For each covered item its link position, if it was found. */
  readonly placed: readonly (number | undefined)[]
  readonly matched: number
}

import { type ClientProfile, type Hash, identityOf } from './identity.ts'
import type { Item } from './item.ts'

/** One chained item: where it stands, what it is, and the hash of everything up to and including it. */
export interface Link {
  /** Index into the items. */
  readonly index: number
  readonly identity: string
  readonly chain: string
}

const EMPTY_CHAIN = ''

/** What was worked out for an item behind a chain; `link` is undefined for an item that stands outside it. */
interface ChainedItem {
  readonly before: string
  readonly index: number
  readonly link: Link | undefined
}

/** Work on items, found again by the items: a history that grows costs its new ones. */
export type KnownLinks = WeakMap<Item, ChainedItem>

/**
 * The content chain `h[i] = H(h[i-1], identity[i])`. Reasoning stands outside it, because clients and vendors drop old
 * reasoning between requests, and so does text that the client's profile calls volatile.
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

/** How many links two chains share from the start, at the same places: a chain hash stands for all that came before it. */
export function sharedLinks(a: readonly Link[], b: readonly Link[]): number {
  const most = Math.min(a.length, b.length)
  // A link is made once, and lists that have it at the same place begin alike.
  if (most > 0 && a[most - 1] === b[most - 1]) return most
  let at = 0
  while (at < most && isSameLink(a[at]!, b[at]!)) at++
  return at
}

const isSameLink = (one: Link, other: Link): boolean =>
  one === other || (one.chain === other.chain && one.index === other.index)

/** The key of a first-send edit. The call id alone would not do: some providers reuse short ids in every turn. */
export const firstSendKey = (callId: string | undefined, identity: string): string => `${callId ?? ''}:${identity}`

/**
 * Finds covered items in a chain that does not match any more: a client that lost, added or rewrote a few items still has most
 * of the others in the same order. Identities that occur once on both sides are the fixed points (the longest run of them
 * that is in order); repeated ones ("continue", "ok") are placed between those, since one that moved must not drag the rest along.
 */
export function alignChain(covered: readonly string[], links: readonly Link[]): Alignment {
  const positions = positionsOf(links.map((link) => link.identity))
  const anchors = anchorsOf(covered, positions)
  // For each covered item the place of the nearest anchor after it: nothing may be placed beyond that.
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

/** Place by covered index, for the longest ordered run of identities that are unique on both sides. */
function anchorsOf(covered: readonly string[], positions: ReadonlyMap<string, readonly number[]>): Map<number, number> {
  const pairs: { readonly i: number; readonly at: number }[] = []
  for (const [identity, [i, again]] of positionsOf(covered)) {
    const places = positions.get(identity)
    if (i !== undefined && again === undefined && places?.length === 1) pairs.push({ i, at: places[0]! })
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
  /** For each covered item its place among the links, if it was found. */
  readonly placed: readonly (number | undefined)[]
  readonly matched: number
}

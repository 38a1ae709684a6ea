import type { Hash } from './hash.ts'
import { identityOf, type ClientProfile } from './identity.ts'
import type { Item } from './item.ts'

/** One chained item: where it stands, what it is, and the hash of everything up to and including it. */
export interface Link {
  /** Index into the items. */
  readonly index: number
  readonly identity: string
  readonly chain: string
}

export const EMPTY_CHAIN = ''

/**
 * The content chain `h[i] = H(h[i-1], identity[i])`. Reasoning stands outside it, because clients and vendors drop old
 * reasoning between requests, and so does text that the client's profile calls volatile.
 */
export function chainOf(items: readonly Item[], hash: Hash, profile: ClientProfile): readonly Link[] {
  const links: Link[] = []
  let chain = EMPTY_CHAIN
  for (const [index, item] of items.entries()) {
    if (item.kind === 'reasoning') continue
    const identity = identityOf(item, hash, profile)
    if (identity === undefined) continue
    chain = hash(chain + identity)
    links.push({ index, identity, chain })
  }
  return links
}

/** The key of a first-send edit. The call id alone would not do: some providers reuse short ids in every turn. */
export const firstSendKey = (callId: string | undefined, identity: string): string => `${callId ?? ''}:${identity}`

/**
 * Finds covered items in a chain that does not match any more. In-order greedy alignment: a client that lost, added or
 * rewrote a few items still has most of the others in the same order.
 */
export function alignChain(covered: readonly string[], links: readonly Link[]): Alignment {
  const positions = new Map<string, number[]>()
  for (const [at, link] of links.entries()) {
    const known = positions.get(link.identity)
    if (known === undefined) positions.set(link.identity, [at])
    else known.push(at)
  }
  const cursor = new Map<string, number>()
  const placed: (number | undefined)[] = []
  let next = 0
  let matched = 0
  for (const identity of covered) {
    const candidates = positions.get(identity) ?? []
    let i = cursor.get(identity) ?? 0
    while (i < candidates.length && candidates[i]! < next) i++
    cursor.set(identity, i)
    const at = candidates[i]
    placed.push(at)
    if (at === undefined) continue
    next = at + 1
    matched++
  }
  return { placed, matched }
}

export interface Alignment {
  /** For each covered item its place among the links, if it was found. */
  readonly placed: readonly (number | undefined)[]
  readonly matched: number
}

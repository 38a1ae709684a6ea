import { chainOf, type KnownLinks, type Link } from '../../core/chain.ts'
import type { Codec } from '../../core/codec.ts'
import type { Conversation } from '../../core/conversation.ts'
import type { ClientProfile, Hash } from '../../core/identity.ts'
import type { Item } from '../../core/item.ts'
import { commonPrefix } from '../../core/values.ts'
import { BoundedMap } from '../../util/bounded-map.ts'

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
}

/**
 * Remembers the last bodies of each owner, so that a history that is sent again with a few messages more is read from where it is
 * new. Owners never share a body: how long reading takes must not tell one what another sent.
 */
export interface RecentBodies {
  decode(owner: string, codec: Codec, text: string): Conversation
}

interface MemoOptions {
  readonly hash: Hash
  readonly profile: ClientProfile
  /** What remembered bodies may take together. @default a bound of their own */
  readonly bodyBytes?: number | undefined
}

export function createMemo({ hash, profile, bodyBytes }: MemoOptions): Memo {
  const known: KnownLinks = new WeakMap()
  return {
    bodies: createRecentBodies({ bytes: bodyBytes }),
    chain: (items) => chainOf(items, hash, profile, known),
  }
}

/** How many items two histories share from the start, as the very same objects. */
export function sharedItems(a: readonly Item[], b: readonly Item[]): number {
  const most = Math.min(a.length, b.length)
  let at = 0
  while (at < most && a[at] === b[at]) at++
  return at
}

/** The off switch: everything is worked out anew. */
export const noMemo = ({ hash, profile }: MemoOptions): Memo => ({
  bodies: { decode: (_owner, codec, text) => codec.decode(text) },
  chain: (items) => chainOf(items, hash, profile),
})

interface RecentBodiesOptions {
  /** Bodies per owner and wire: as many conversations as one owner leads at a time. @default 256 */
  readonly perOwner?: number
  /** What all bodies together take, roughly. @default 100 million */
  readonly bytes?: number
}

interface Body {
  readonly text: string
  readonly conversation: Conversation
}

export function createRecentBodies({ perOwner = 256, bytes = 100_000_000 }: RecentBodiesOptions = {}): RecentBodies {
  /** The oldest body of each owner stands first. */
  const owners = new BoundedMap<string, readonly Body[]>(bytes)
  return {
    decode(owner, codec, text) {
      const key = `${codec.format} ${owner}`
      const known = owners.get(key) ?? []
      const before = nearest(known, text)
      const conversation = codec.decode(text, before?.conversation)
      const outgrown = before !== undefined && hasGrownFrom(before.conversation, conversation) ? before : undefined
      const bodies = [...known.filter((body) => body !== outgrown), { text, conversation }].slice(-perOwner)
      let weight = bodies.reduce((sum, body) => sum + weightOf(body.text, body.conversation.items.length), 0)
      while (weight > bytes && bodies.length > 1) {
        const oldest = bodies.shift()!
        weight -= weightOf(oldest.text, oldest.conversation.items.length)
      }
      owners.set(key, bodies, weight)
      return conversation
    },
  }
}

/**
 * A body that another one grew from will hardly come again. Sharing a system prompt is not enough: that would push out another conversation's. An
 * item is the same object only where everything before it is the same.
 */
function hasGrownFrom({ items: before }: Conversation, { items: now }: Conversation): boolean {
  const at = Math.max(2, before.length - 2) - 1
  return at < now.length && now[at] === before[at]
}

/** An item, its place in the text, its links and its count. */
const ITEM_BYTES = 2_500

/** What a conversation takes in memory, roughly: many small items take more than their text. */
export const weightOf = (text: string, items: number): number => text.length + ITEM_BYTES * items

/** Characters behind the best place so far that a body must share before it is compared from its beginning. */
const PROBE = 8

/** The body that shares most with a text from its beginning, the newest of several. */
function nearest(bodies: readonly Body[], text: string): Body | undefined {
  let best: Body | undefined
  let most = 0
  for (const body of bodies.toReversed()) {
    if (best !== undefined && !body.text.startsWith(text.slice(most, most + PROBE), most)) continue
    const shared = commonPrefix(body.text, text)
    if (shared <= most) continue
    best = body
    most = shared
  }
  return best
}

import type { Codec } from '../../core/codec.ts'
import type { Conversation } from '../../core/conversation.ts'
import { hidesContent } from '../../core/count.ts'
import { chainOf, extendChain, linksBefore, type Link } from '../../core/chain.ts'
import type { EditedItems } from '../../core/edits.ts'
import type { ClientProfile, Hash, QuotedText } from '../../core/identity.ts'
import type { Item } from '../../core/item.ts'
import type { Fields } from '../../core/values.ts'
import { BoundedMap } from '../../util/bounded-map.ts'
import { createPrefixes, noPrefixes, type Prefixes } from '../../util/prefix-memo.ts'
import { createRecentBodies, forgetfulBodies, type RecentBodies } from './recent-bodies.ts'

/**
 * Memory of work: what a prefix decoded to, what it counted, what it was written as.
 *
 * One invariant: **it changes no byte**. Whatever is remembered is found by item objects, and a decoder gives the same object again only
 * where two bodies are the same up to it; so what was worked out for that object is what would be worked out now. A process without
 * any of it, or with `memo: false`, sends and stores the same (`test/engine/laws`, `test/engine/edited-prefix-memo.test.ts`).
 */
export interface Memo {
  /** Bodies that were read before. */
  readonly bodies: RecentBodies
  /** The content chain of a history. */
  readonly chain: (items: readonly Item[], quoted?: QuotedText) => readonly Link[]
  /** Whether some item names content that stands elsewhere. */
  readonly anyHides: (items: readonly Item[]) => boolean
  /** Whether some item is the model's own reasoning. */
  readonly anyThinks: (items: readonly Item[]) => boolean
  /** Work found again by the beginning of a history. */
  readonly prefixes: Prefixes<Item>
  readonly edited: EditedItems | undefined
  /** Parsed messages whose text was found to be well formed. */
  readonly wellFormed: WeakSet<object> | undefined
  /** What stands beside the messages of requests that broke no rule, as it was read from what left; by tenant, model and text. */
  readonly frames: BoundedMap<string, Fields> | undefined
  /** Reads a text that was made from a conversation's own: from where the two part. */
  readonly readAgain: (codec: Codec, text: string, from: Conversation) => Conversation
}

export interface MemoOptions {
  readonly hash: Hash
  readonly profile: ClientProfile
  /** What remembered bodies and frames may take together. @default bounds of their own */
  readonly bodyBytes?: number | undefined
}

/** Tools of some dozens of different clients; what was parsed takes more than its text. */
const FRAME_BYTES = 16_000_000
export const frameWeight = (frame: string): number => 6 * frame.length

export function createMemo({ hash, profile, bodyBytes }: MemoOptions): Memo {
  const prefixes = createPrefixes<Item>()
  const frameBytes = bodyBytes === undefined ? FRAME_BYTES : Math.min(FRAME_BYTES, bodyBytes / 8)
  const chains = prefixes.memo<readonly Link[]>()
  return {
    bodies: createRecentBodies(prefixes, bodyBytes === undefined ? {} : { bytes: bodyBytes - frameBytes, least: 0 }),
    chain(items, quoted) {
      const near = chains.nearest(items)
      // A request asks for its own chain several times.
      if (near?.shared === items.length && near.isOutgrown) return near.value
      const { value: known, shared } = near ?? { value: [], shared: 0 }
      const count = linksBefore(known, shared)
      const links = extendChain(
        count === known.length ? known : known.slice(0, count),
        items,
        shared,
        hash,
        profile,
        quoted,
      )
      chains.keep(items, links, near)
      return links
    },
    anyHides: anyOf(prefixes, hidesContent),
    anyThinks: anyOf(prefixes, isThought),
    prefixes,
    edited: new WeakMap(),
    wellFormed: new WeakSet(),
    frames: new BoundedMap(frameBytes),
    readAgain: (codec, text, from) => codec.incremental?.decode(text, from) ?? codec.decode(text),
  }
}

const isThought = ({ kind }: Item): boolean => kind === 'reasoning'

/** Whether some item is one of those: items that an earlier history had were asked then. */
function anyOf(prefixes: Prefixes<Item>, isOne: (item: Item) => boolean): (items: readonly Item[]) => boolean {
  const known = prefixes.memo<{ readonly hasOne: boolean }>()
  return (items) => {
    const near = known.nearest(items)
    const from = near?.shared ?? 0
    if (near?.isOutgrown === true && from === items.length) return near.value.hasOne
    // Of a list that has one nobody knows where.
    const isKnown = near !== undefined && (near.isOutgrown || !near.value.hasOne)
    const hasOne = isKnown ? near.value.hasOne || items.slice(from).some(isOne) : items.some(isOne)
    known.keep(items, { hasOne }, near)
    return hasOne
  }
}

/** The off switch: everything is worked out anew. */
export const noMemo = ({ hash, profile }: MemoOptions): Memo => ({
  bodies: forgetfulBodies,
  chain: (items) => chainOf(items, hash, profile),
  anyHides: (items) => items.some(hidesContent),
  anyThinks: (items) => items.some(isThought),
  prefixes: noPrefixes(),
  edited: undefined,
  wellFormed: undefined,
  frames: undefined,
  readAgain: (codec, text) => codec.decode(text),
})

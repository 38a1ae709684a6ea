import { chainOf, type KnownLinks, type Link } from '../../core/chain.ts'
import type { Codec } from '../../core/codec.ts'
import type { Conversation } from '../../core/conversation.ts'
import type { ClientProfile, Hash } from '../../core/identity.ts'
import type { Item, ToolDeclaration } from '../../core/item.ts'
import { commonPrefix } from '../../core/values.ts'

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
  /** How many items two histories share from the start, as the very same objects. */
  readonly shared: (a: readonly Item[], b: readonly Item[]) => number
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
    shared: sharedItems,
  }
}

function sharedItems(a: readonly Item[], b: readonly Item[]): number {
  const most = Math.min(a.length, b.length)
  let at = 0
  while (at < most && a[at] === b[at]) at++
  return at
}

/** The off switch: everything is worked out anew. */
export const noMemo = ({ hash, profile }: MemoOptions): Memo => ({
  bodies: { decode: (_owner, codec, text) => codec.decode(text) },
  chain: (items) => chainOf(items, hash, profile),
  shared: () => 0,
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

export function createRecentBodies(options: RecentBodiesOptions = {}): RecentBodies {
  const { perOwner = 256, bytes = 100_000_000 } = options
  /** The owner that was not heard for longest stands first, and so does its oldest body. */
  const owners = new Map<string, Body[]>()
  let held = 0

  const forget = (bodies: Body[], at: number): void => {
    const [gone] = bodies.splice(at, 1)
    if (gone === undefined) return
    held -= weightOf(gone.text, gone.conversation.items.length)
  }

  return {
    decode(owner, codec, text) {
      const { incremental } = codec
      if (incremental === undefined) return codec.decode(text)
      const key = `${codec.format} ${owner}`
      const bodies = owners.get(key) ?? []
      const before = nearest(bodies, text)?.conversation
      const read = incremental.decode(text, before)
      const conversation = before === undefined ? read : withSameHead(read, before)
      // The body that this one grew from will hardly come again. Sharing a system prompt is not enough: that would push out another conversation's.
      if (before !== undefined && sharedItems(before.items, conversation.items) >= Math.max(2, before.items.length - 2))
        forget(
          bodies,
          bodies.findIndex((body) => body.conversation === before),
        )
      bodies.push({ text, conversation })
      held += weightOf(text, conversation.items.length)
      if (bodies.length > perOwner) forget(bodies, 0)
      owners.delete(key)
      owners.set(key, bodies)
      for (const [name, others] of owners) {
        while (held > bytes && others.length > 0) forget(others, 0)
        if (others.length > 0) break
        owners.delete(name)
      }
      return conversation
    },
  }
}

/** Instructions and tools come again with every request; what was worked out for them is found again by the objects. */
function withSameHead(now: Conversation, before: Conversation): Conversation {
  return {
    ...now,
    head: isSame(now.head, before.head, isSameInstruction) ? before.head : now.head,
    tools: isSame(now.tools, before.tools, isSameTool) ? before.tools : now.tools,
  }
}

const isSame = <T>(now: readonly T[], before: readonly T[], isAlike: (a: T, b: T) => boolean): boolean =>
  now.length === before.length && now.every((one, i) => isAlike(one, before[i]!))

const isSameInstruction = (a: Item, b: Item): boolean =>
  a.text === b.text &&
  a.id === b.id &&
  a.kind === b.kind &&
  a.role === b.role &&
  a.media === undefined &&
  b.media === undefined

/** All that is known of a declaration was read from its text. */
const isSameTool = (a: ToolDeclaration, b: ToolDeclaration): boolean => a.text === b.text && a.name === b.name

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

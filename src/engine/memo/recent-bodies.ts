import type { Codec } from '../../core/codec.ts'
import { commonPrefix } from '../../core/values.ts'
import type { Conversation } from '../../core/conversation.ts'
import type { Item, ToolDeclaration } from '../../core/item.ts'
import type { Prefixes } from '../../util/prefix-memo.ts'

/**
 * Remembers the last bodies of each owner, so that a history that is sent again with a few messages more is read from where it is
 * new. Owners never meet: how long reading takes must not tell one what another sent.
 */
export interface RecentBodies {
  decode(owner: string, codec: Codec, text: string): Conversation
}

interface RecentBodiesOptions {
  /** Bodies per owner and wire: as many conversations as one owner leads at a time. @default 256 */
  readonly perOwner?: number
  /** What all bodies together take, roughly. @default 50 million */
  readonly bytes?: number
  /** As many may take four times as much: large conversations that take turns must not push each other out. @default 32 */
  readonly least?: number
}

interface Body {
  readonly text: string
  readonly conversation: Conversation
  /** One character of the text that tells it from most others, and where it stands: every body is looked at for every request. */
  readonly sign: number
  readonly at: number
}

function bodyOf(text: string, conversation: Conversation): Body {
  const at = lastGlance(text)
  return { text, conversation, at, sign: text.charCodeAt(at) }
}

/** Reads every body as a whole. */
export const forgetfulBodies: RecentBodies = { decode: (_owner, codec, text) => codec.decode(text) }

export function createRecentBodies(prefixes: Prefixes<Item>, options: RecentBodiesOptions = {}): RecentBodies {
  const { perOwner = 256, bytes = 50_000_000, least = 32 } = options
  /** The owner that was not heard for longest stands first, and so does its oldest body. */
  const owners = new Map<string, Body[]>()
  let held = 0
  let count = 0

  const forget = (bodies: Body[], at: number): void => {
    const [gone] = bodies.splice(at, 1)
    if (gone === undefined) return
    held -= weightOf(gone.text, gone.conversation.items.length)
    count--
  }

  function keep(key: string, bodies: Body[], body: Body): void {
    bodies.push(body)
    held += weightOf(body.text, body.conversation.items.length)
    count++
    if (bodies.length > perOwner) forget(bodies, 0)
    owners.delete(key)
    owners.set(key, bodies)
    for (const [name, others] of owners) {
      while (held > (count <= least ? 4 * bytes : bytes) && others.length > 0) forget(others, 0)
      if (others.length > 0) return
      owners.delete(name)
    }
  }

  return {
    decode(owner, codec, text) {
      const { incremental } = codec
      if (incremental === undefined) return codec.decode(text)
      const key = `${codec.format} ${owner}`
      const bodies = owners.get(key) ?? []
      const before = nearest(bodies, text)
      const conversation = sharing(incremental.decode(text, before?.conversation), before?.conversation)
      // The body that this one grew from will hardly come again.
      if (before !== undefined && isContinued(prefixes, before.conversation, conversation))
        forget(bodies, bodies.indexOf(before))
      keep(key, bodies, bodyOf(text, conversation))
      return conversation
    },
  }
}

/** Instructions and tools come again with every request; what was worked out for them is found again by the objects. */
function sharing(now: Conversation, before: Conversation | undefined): Conversation {
  if (before === undefined) return now
  const head = isSame(now.head, before.head, isSameInstruction) ? before.head : now.head
  const tools = isSame(now.tools, before.tools, isSameTool) ? before.tools : now.tools
  return head === now.head && tools === now.tools ? now : { ...now, head, tools }
}

const isSame = <T>(now: readonly T[], before: readonly T[], isAlike: (a: T, b: T) => boolean): boolean =>
  now === before || (now.length === before.length && now.every((one, i) => isAlike(one, before[i]!)))

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

/**
 * The body that shares most with a text. Most often it is one that this text goes on from; single characters tell those from the others, and
 * whoever passes is compared whole: the same task run twice leaves bodies that differ in a date near their beginning and in nothing else.
 */
function nearest(bodies: readonly Body[], text: string): Body | undefined {
  const goesOn = closest(bodies, text, (body) => text.charCodeAt(body.at) === body.sign && mayGoOn(body.text, text))
  if (goesOn !== undefined && goesOn.shared > 0.75 * goesOn.body.text.length) return goesOn.body
  return closest(bodies, text, () => true)?.body
}

function closest(
  bodies: readonly Body[],
  text: string,
  isMeant: (body: Body) => boolean,
): { readonly body: Body; readonly shared: number } | undefined {
  let best: Body | undefined
  let most = 0
  let behind = text.slice(0, PROBE)
  // The newest first: it is the likeliest, and few of the others get past its end.
  for (let i = bodies.length - 1; i >= 0; i--) {
    const body = bodies[i]!
    if (!isMeant(body) || (best !== undefined && !body.text.startsWith(behind, most))) continue
    const shared = commonPrefix(body.text, text)
    if (shared <= most) continue
    best = body
    most = shared
    if (isGrownAt(body.text, text, shared)) break
    behind = text.slice(most, most + PROBE)
  }
  return best === undefined ? undefined : { body: best, shared: most }
}

/** Whether a text goes on where the list of an earlier one has ended, and little is new about it: nobody is looked for who shares still more. */
const isGrownAt = (before: string, text: string, at: number): boolean =>
  at > 0.75 * text.length && before.charCodeAt(at) === LIST_END && text.charCodeAt(at) === COMMA

const LIST_END = ']'.charCodeAt(0)
const COMMA = ','.charCodeAt(0)

/** Sixteen. */
const GLANCES_AS_POWER = 4

/** The last quarter is left out: what stands behind the messages moves. */
const strideOf = ({ length }: string): number => ((3 * length) >> 2) >> GLANCES_AS_POWER
const lastGlance = (text: string): number => strideOf(text) << GLANCES_AS_POWER

function mayGoOn(a: string, b: string): boolean {
  // Whole numbers throughout: this runs for every body that is remembered.
  const stride = strideOf(a)
  for (let at = stride << GLANCES_AS_POWER; at > 0; at -= stride)
    if (a.charCodeAt(at) !== b.charCodeAt(at)) return false
  return true
}

/** Sharing a system prompt is not enough: that would push out the body of another conversation. */
const isContinued = (prefixes: Prefixes<Item>, before: Conversation, after: Conversation): boolean =>
  prefixes.shared(before.items, after.items) >= Math.max(2, before.items.length - 2)

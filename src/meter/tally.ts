import {
  type Count,
  countFrom,
  type CountSource,
  exactly,
  NO_TOKENS,
  sumCounts,
  unknownCount,
  weaker,
} from '../core/count.ts'
import type { Near, Prefixes } from '../util/prefix-memo.ts'
import type { Item } from '../core/item.ts'
import type { ContentKind } from './estimator/features.ts'
import { countMedia } from './media.ts'
import type { Overhead } from './overhead.ts'

/**
 * Raw tokens by what they are: kinds of text; `tools`, whose declarations a vendor rewrites; `media`, counted by rules of size;
 * `fixed`, the framing around all of it. Each is wrong in its own way.
 */
export type TokenClass = ContentKind | 'fixed' | 'tools' | 'media'
export type ClassTokens = Readonly<Partial<Record<TokenClass, number>>>

/** A sum of counts that more can be added to: the squares of the half-widths are kept instead of their root. */
export interface Sum {
  readonly tokens: number
  readonly below: number
  readonly above: number
  /** Of words whose size nobody can see. */
  readonly unsure: number
  readonly source: CountSource
  /** Beside the words, since what is wrong about one picture is wrong about the next. */
  readonly media: Count
  readonly byClass: ClassTokens
}

export const NOTHING: Sum = {
  tokens: 0,
  below: 0,
  above: 0,
  unsure: 0,
  source: 'exact',
  media: NO_TOKENS,
  byClass: {},
}

export function addItem(sum: Sum, { words, media, kind, text }: CountedItem): Sum {
  const byClass = copyOf(sum.byClass)
  put(byClass, kind, text)
  put(byClass, 'fixed', words.tokens - text)
  put(byClass, 'media', media.tokens)
  return {
    tokens: sum.tokens + words.tokens,
    below: sum.below + (words.tokens - words.low) ** 2,
    above: sum.above + (words.high - words.tokens) ** 2,
    unsure: sum.unsure + (words.unsure ?? 0),
    source: weaker(sum.source, words.source),
    media: media.tokens === 0 ? sum.media : addMedia([sum.media, media]),
    byClass,
  }
}

export function addSums(a: Sum, b: Sum): Sum {
  if (a === NOTHING) return b
  if (b === NOTHING) return a
  const byClass = copyOf(a.byClass)
  for (const kind of Object.keys(b.byClass) as TokenClass[]) put(byClass, kind, b.byClass[kind] ?? 0)
  return {
    tokens: a.tokens + b.tokens,
    below: a.below + b.below,
    above: a.above + b.above,
    unsure: a.unsure + b.unsure,
    source: weaker(a.source, b.source),
    media: b.media.tokens === 0 ? a.media : a.media.tokens === 0 ? b.media : addMedia([a.media, b.media]),
    byClass,
  }
}

export const countOf = ({ tokens, below, above, unsure, source }: Sum): Count =>
  countFrom(tokens, Math.max(0, tokens - Math.sqrt(below)), tokens + Math.sqrt(above), unsure, source)

export function withTokens(byClass: ClassTokens, kind: TokenClass, tokens: number): ClassTokens {
  if (tokens === 0) return byClass
  const sum = copyOf(byClass)
  put(sum, kind, tokens)
  return sum
}

const copyOf = (byClass: ClassTokens): Partial<Record<TokenClass, number>> => ({ ...byClass })

function put(sum: Partial<Record<TokenClass, number>>, kind: TokenClass, tokens: number): void {
  if (tokens !== 0) sum[kind] = (sum[kind] ?? 0) + tokens
}

/** A history counted up to some item. */
interface Running {
  readonly sum: Sum
  /** Thinking since the newest message that a person wrote; it is forgotten with the next one. */
  readonly thinking: Sum
  readonly messages: number
  readonly lastMessage: number
  /** Items before the first one with a seal, and before the first one of which nobody knows what it hides. */
  readonly unsealed: number
  readonly known: number
}

export interface TallyRules {
  readonly count: (item: Item) => CountedItem
  readonly forgetsThinking: boolean
  /** Calls and results stand in messages; else each is framed alone. */
  readonly callsInMessages: boolean
  /** Tokens of sealed content by its seal, as one session knows them. */
  readonly hidden?: ReadonlyMap<string, number> | undefined
}

/** Tokens of a history and how many messages it has. */
export interface Tally {
  readonly sum: Sum
  readonly messages: number
}

const START: Running = {
  sum: NOTHING,
  thinking: NOTHING,
  messages: 0,
  lastMessage: -1,
  unsealed: Infinity,
  known: Infinity,
}

/** What was counted up to each item of a list, and what was known of hidden tokens then. */
interface Counted {
  readonly steps: Running[]
  readonly hidden: TallyRules['hidden']
}

/** Adds up histories that grow: what stands at the start of one that was added up before is not looked at again. */
export function createTally(prefixes: Prefixes<Item>): (items: readonly Item[], rules: TallyRules) => Tally {
  const lists = prefixes.memo<Counted>()
  return (items, rules) => {
    const near = lists.nearest(items)
    const kept = near === undefined ? 0 : stillTrue(near, rules.hidden)
    const isTakenOver = near?.isOutgrown === true && kept === near.shared
    // The same list again, as several questions about one request are.
    if (isTakenOver && kept === items.length && near.value.steps.length === kept)
      return tallyAt(near.value.steps.at(-1))
    const steps = isTakenOver ? near.value.steps : (near?.value.steps.slice(0, kept) ?? [])
    // Counting may have failed on the way before.
    steps.length = kept
    let running = steps.at(-1) ?? START
    for (let at = kept; at < items.length; at++) {
      running = step(running, items[at]!, at, rules)
      steps.push(running)
    }
    lists.keep(items, { steps, hidden: rules.hidden }, near)
    return tallyAt(running)
  }
}

const tallyAt = ({ sum, thinking, messages }: Running = START): Tally => ({ sum: addSums(sum, thinking), messages })

/** How many items of a list still count what they did: another session knows other seals, and this one may have learned one since. */
function stillTrue({ items, value, shared }: Near<Item, Counted>, hidden: TallyRules['hidden']): number {
  const { unsealed, known } = value.steps[shared - 1] ?? START
  if (value.hidden !== hidden) return Math.min(shared, unsealed)
  const seal = known < shared ? items[known]!.seal : undefined
  return seal !== undefined && hidden?.has(seal) === true ? known : shared
}

function step(running: Running, item: Item, at: number, rules: TallyRules): Running {
  const { count, forgetsThinking, callsInMessages, hidden } = rules
  const isSealed = item.seal !== undefined
  const isFramed = callsInMessages || (item.kind !== 'call' && item.kind !== 'result')
  // Items of one message share its index; each item that we insert stands in a message of its own.
  const isNew = isFramed && (item.message < 0 || item.message > running.lastMessage)
  const isPassing = forgetsThinking && item.kind === 'reasoning'
  const sum = isPassing ? running.sum : addItem(running.sum, count(item))
  const kept = item.kind === 'user' && forgetsThinking ? NOTHING : running.thinking
  return {
    sum,
    thinking: isPassing ? addItem(kept, count(item)) : kept,
    messages: running.messages + (isNew ? 1 : 0),
    lastMessage: isFramed ? Math.max(running.lastMessage, item.message) : running.lastMessage,
    unsealed: isSealed ? Math.min(running.unsealed, at) : running.unsealed,
    known: isSealed && hidden?.has(item.seal!) !== true ? Math.min(running.known, at) : running.known,
  }
}

/** What counting an item needs to know about where it goes. */
export interface ItemContext {
  readonly model: string
  readonly family: string
  readonly isKnown: boolean
  readonly overhead: Overhead
  countText(text: string): Count
  /** Tokens of sealed content by its seal, as the answer that issued it reported them. */
  readonly hidden?: ReadonlyMap<string, number>
}

/** Sealed content shows its length at best: a ciphertext is about five characters per token that it hides. */
const SEALED_TOKENS_PER_CHARACTER = 0.2
/** Sealed content of which not even a length is seen. */
const SEALED_UNSEEN: Count = unknownCount(400, 0, 4000)

/** An item's words, and what it shows beside them. */
export interface ItemCount {
  readonly words: Count
  readonly media: Count
}

export interface CountedItem extends ItemCount {
  readonly kind: ContentKind
  /** Share of the words that is text: the rest is framing. */
  readonly text: number
}

/** Tokens of one item, its framing as a call or result included; the framing of its message is counted with the whole. */
export function countItem(item: Item, context: ItemContext): ItemCount {
  return {
    words: countWords(item, context),
    media: item.media === undefined ? NO_TOKENS : addMedia(item.media.map((media) => countMedia(media, context))),
  }
}

/** What is wrong about one picture is wrong about the next: their errors add up. */
function addMedia(counts: readonly Count[]): Count {
  const sum = (of: (count: Count) => number): number => counts.reduce((total, count) => total + of(count), 0)
  return countFrom(
    sum(({ tokens }) => tokens),
    sum(({ low }) => low),
    sum(({ high }) => high),
    sum(({ unsure = 0 }) => unsure),
    sumCounts(counts).source,
  )
}

function countWords(item: Item, context: ItemContext): Count {
  const parts: Count[] = []
  switch (item.kind) {
    case 'call':
      parts.push(
        context.countText(item.text),
        context.countText(item.toolName ?? ''),
        exactly(context.overhead.perCall, 'estimate'),
        signatureOf(item, context.overhead),
      )
      break
    case 'result':
      parts.push(context.countText(item.text), exactly(context.overhead.perResult, 'estimate'))
      break
    case 'reasoning':
    case 'opaque':
      parts.push(item.sealed === true ? countSealed(item, context) : context.countText(item.text))
      break
    case 'instruction':
    case 'user':
    case 'assistant':
    case 'media':
      parts.push(context.countText(item.text))
      break
  }
  return parts.length === 1 ? parts[0]! : sumCounts(parts)
}

/** A signature on a call brings the thoughts before it back, unseen. */
function signatureOf({ sealedCharacters = 0 }: Item, { perSealedCharacter }: Overhead): Count {
  const tokens = Math.round(sealedCharacters * perSealedCharacter)
  return tokens === 0 ? NO_TOKENS : { tokens, low: tokens * 0.4, high: tokens * 1.6, source: 'estimate' }
}

function countSealed(item: Item, context: ItemContext): Count {
  const reported = item.seal === undefined ? undefined : context.hidden?.get(item.seal)
  if (reported !== undefined) return exactly(reported, 'provider')
  const { sealedCharacters = 0 } = item
  if (item.text === '' && sealedCharacters === 0) return SEALED_UNSEEN
  const seen = Math.max(item.text.length, sealedCharacters) * SEALED_TOKENS_PER_CHARACTER
  // Readable thinking with a signature counts as its text; a ciphertext as what it hides. Either may be true of sealed text.
  const text = context.countText(item.text)
  const tokens = Math.max(text.tokens, Math.ceil(seen))
  return { ...unknownCount(tokens, 0, Math.max(text.high, Math.ceil(seen * 2))), high: Math.max(tokens, text.high) }
}

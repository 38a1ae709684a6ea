import { type Count, countFrom, type CountSource, NO_TOKENS, weaker } from '../core/count.ts'
import type { Near, Prefixes } from '../util/prefix-memo.ts'
import type { Item } from '../core/item.ts'
import { addMedia, type CountedItem } from './count-item.ts'
import type { ContentKind } from './estimator/kinds.ts'

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

/** To be added to: not a spread, see `extended`. */
const copyOf = (byClass: ClassTokens): Partial<Record<TokenClass, number>> => Object.assign({}, byClass)

/** Set behind the copy: a computed key within a literal takes the runtime of the language several times as long. */
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

import type { Link } from '../../../core/chain.ts'
import { rangesOf } from '../../../core/epochs.ts'
import type { Handle } from '../../../core/handles.ts'
import type { Item } from '../../../core/item.ts'
import type { EpochEdit } from '../../../core/records.ts'
import type { Turns } from '../../../core/turns.ts'
import type { ArtifactMeta } from '../../../ports/artifact-store.ts'
import type { PresentOptions } from '../../deps.ts'
import type { Readers } from '../../readers/reader-tools.ts'

/** What the cascade works on: a transcript with its first-send edits in place, and the numbers to reach. All pure. */
export interface Draft {
  readonly items: readonly Item[]
  readonly links: readonly Link[]
  /** Place of each item in the chain; -1 for items outside it. */
  readonly places: Int32Array
  readonly turns: Turns
  /** Item indexes that are never folded away: task, newest user message, open step, pending calls, pins, instructions. */
  readonly keep: ReadonlySet<number>
  /** Messages that are larger than what they may take, by index: the share of each that is shown. */
  readonly dumps: ReadonlyMap<number, number>
  /** The part of `keep` that stays even where everything else is quoted. */
  readonly pinned: ReadonlySet<number>
  /** Where the open tool step begins. */
  readonly openFrom: number
  /** Upper bound of an item's tokens. */
  readonly tokensOf: (item: Item) => number
  /** What of that a provider said it holds beyond its count. */
  readonly missedOf: (item: Item) => number
  readonly countText: (text: string) => number
  /** Tokens outside the history: instructions, tools, overhead. */
  readonly fixedTokens: number
  readonly limitTokens: number
  readonly windowTokens: number
  /** The preset's own estimate of a request with these items; absent where it has none. */
  readonly estimate?: (items: readonly Item[]) => number
  /** What a reduction aims at; in likely tokens where there is `likely`. */
  readonly lowTokens: number
  /** The same counts in likely tokens, where the policy gives low water in those. */
  readonly likely?: Pick<Draft, 'tokensOf' | 'countText' | 'fixedTokens'>
  /** Size of the body with first-send edits in place, and what it may be. */
  readonly bytes: number
  readonly limitBytes: number
  readonly handleOf: (content: string | Uint8Array) => Handle
  /** A text of any length as a preview. */
  readonly presentLong: (text: string, options: PresentOptions) => Promise<string>
  readonly readers: Readers
  /** The model has tools, its own or ours: a handle may be opened. */
  readonly hasTools: boolean
  /** One sentence about a tool's result, for narratives. */
  readonly describeResult: (tool: string, response: unknown) => string
  /** What a person asked of the summary. */
  readonly instructions?: string
  /** Only the margin of an unknown model is above the limit: what people wrote is not cut for a guess. @default false */
  readonly sparesWords?: boolean
  /** A compaction stands: what it covers is in `items` as it was. @default false */
  readonly isAgain?: boolean
  /** There is a model that may be asked for summaries. */
  readonly hasModel: boolean
  /** It is asked behind the history itself, which has to leave room for the question and its answer. @default false */
  readonly asksInBand?: boolean
}

/** What a step proposes: edits in places of the chain, and the texts that its handles must open. */
export interface Proposal {
  readonly edits: readonly EpochEdit[]
  readonly stored: ReadonlyMap<Handle, StoredText>
  /** Texts of inserted messages that a model may write better; what stands in the edit serves without one. */
  readonly asks?: readonly SummaryAsk[]
}

/** What a proposal, as far as it has come, would leave. */
export interface PlannedSoFar {
  readonly edits: readonly EpochEdit[]
  /** Tokens of what would be left, as a sum of upper bounds. */
  readonly projected: number
  /** Bytes of the body. Items that stay count as they came, so the envelope needs no estimate. */
  readonly bytes: () => number
  /** Whether an item would leave, by its index. */
  readonly gone: (index: number) => boolean
  /** Texts that stand in the place of items, by index. */
  readonly shown: ReadonlyMap<number, string>
  /** The items that would be left, our own messages among them. */
  readonly items: () => Item[]
}

/** A summary to be asked for: the answer, wrapped, takes the place of the inserted `text`. */
export interface SummaryAsk {
  /** The text that code wrote for this place. */
  readonly text: string
  readonly system: string
  /** Items that the summary stands for. */
  readonly folded: readonly Item[]
  /** Those of them that the model reads. */
  readonly items: readonly Item[]
  /** The request, around a transcript of these. */
  readonly prompt: (transcript: string) => string
  /** What a person asked of this summary. */
  readonly instructions?: string
  readonly maxOutputTokens: number
  /** Tokens of what the summary stands for; one that is as long says nothing. */
  readonly sourceTokens: number
  readonly wrap: (answer: string) => string
  /** Facts that must stand in the result word for word. */
  readonly carried: readonly string[]
  /** What the answer may speak of, and is held against. */
  readonly history: readonly Item[]
}

export interface StoredText {
  readonly text: string
  /** Stored in place of the text: a picture or a document. */
  readonly content?: Uint8Array
  readonly mime?: string
  readonly tool?: string
  readonly callId?: string
  /** What is known about the content. */
  readonly about?: ArtifactMeta
}

/** Tokens that stay in view whatever is cut, before the open step: instructions and tools, the task, the newest message, pins. */
export function keptTokens(
  draft: Pick<Draft, 'items' | 'keep' | 'openFrom' | 'tokensOf' | 'fixedTokens' | 'dumps'>,
): number {
  let sum = draft.fixedTokens
  for (const index of draft.keep)
    if (index < draft.openFrom) sum += draft.tokensOf(draft.items[index]!) * (draft.dumps.get(index) ?? 1)
  return sum
}

/** What people wrote stays whole up to this share of what instructions and tools leave of the limit: the rest is room to work in. */
export const WORDS_SHARE = 0.8

/** A message that would take more than all of that is shown in this share: what is said behind it needs room too. */
const DUMP_SHARE = 0.5

/** Tokens in which a message is shown where instructions and tools leave so much room. */
export const shownOf = (tokens: number, room: number): number =>
  room > 0 && tokens > WORDS_SHARE * room ? DUMP_SHARE * room : tokens

/**
 * The part of the limit that work goes on in: what everything that stays leaves of it. What is to be left free is a share of this: taken from all
 * of the limit, it would cost a long task its middle.
 */
export const workingRoom = (draft: Draft): number =>
  Math.max(draft.limitTokens - keptTokens(draft), (1 - WORDS_SHARE) * (draft.limitTokens - draft.fixedTokens), 0)

export const storedText = ({ text, toolName, callId }: Item): StoredText => ({ text, tool: toolName, callId })

export const NOTHING: Proposal = { edits: [], stored: new Map() }

/** Place of each item in the chain; -1 for items outside it. */
export function linkPlaces({ items, links }: Pick<Draft, 'items' | 'links'>): Int32Array {
  const places = new Int32Array(items.length).fill(-1)
  for (const [k, link] of links.entries()) places[link.index] = k
  return places
}

type Unit = 'messages' | 'items'

/** How much of a unit stands in a range of items. */
export function sizeOf(draft: Draft, from: number, to: number, unit: Unit): number {
  if (unit === 'items') return to - from
  let sum = 0
  for (let i = from; i < to; i++) {
    const item = draft.items[i]!
    if (i === from || item.message < 0 || item.message !== draft.items[i - 1]!.message) sum++
  }
  return sum
}

/** Where the newest `amount` begin; moved back to the start of a step, so that no call loses its result. */
export function tailStart(draft: Draft, amount: number, unit: Unit): number {
  const { steps } = draft.turns
  let from = draft.items.length
  let held = 0
  for (let s = steps.length - 1; s >= 0 && held < amount; s--) {
    from = steps[s]!.from
    held += sizeOf(draft, from, steps[s]!.to, unit)
  }
  return Math.min(from, draft.openFrom)
}

/** Where the first `amount` messages end, at the end of a step. */
export function headEnd(draft: Draft, amount: number): number {
  let to = 0
  let held = 0
  for (const step of draft.turns.steps) {
    if (held >= amount) break
    to = step.to
    held += sizeOf(draft, step.from, step.to, 'messages')
  }
  return to
}

/** Items of a range that may go, whole steps at a time; what must stay does. */
export function foldableIn(draft: Draft, from: number, to: number): number[] {
  const indexes: number[] = []
  for (const step of draft.turns.steps) {
    if (step.from < from || step.to > to || mustStayWhole(draft, step.from, step.to)) continue
    for (let i = step.from; i < step.to; i++) if (!draft.keep.has(i)) indexes.push(i)
  }
  return indexes
}

export const dropEdits = ({ places }: Draft, indexes: readonly number[], reason: string): EpochEdit[] =>
  rangesOf(indexes.map((index) => ({ place: places[index]!, reason })).filter(({ place }) => place >= 0))

/** The items at these indexes leave, and one message stands for them. */
export const standIn = (draft: Draft, folded: readonly number[], text: string, why: StandInReasons): EpochEdit[] => [
  ...dropEdits(draft, folded, why.dropped),
  {
    op: 'insert',
    at: summaryPlace(draft, folded[0]!, folded.at(-1)! + 1),
    role: 'user',
    text,
    reason: why.inserted,
  },
]

export interface StandInReasons {
  readonly dropped: string
  readonly inserted: string
}

/** Place of the first chained item of a range that is wanted. */
function firstPlace(
  { places }: Draft,
  from: number,
  to: number,
  isWanted?: (index: number) => boolean,
): number | undefined {
  for (let i = from; i < to; i++) if (places[i]! >= 0 && isWanted?.(i) !== false) return places[i]
  return undefined
}

/** Place of the first chained item from `index` on; the end of the chain when there is none. */
export const placeFrom = (draft: Draft, index: number): number =>
  firstPlace(draft, index, draft.items.length) ?? draft.links.length

/** A kept call or result keeps its whole step: half of a pair is no valid request. */
export const mustStayWhole = ({ items, keep }: Draft, from: number, to: number): boolean =>
  items.slice(from, to).some(({ kind }, i) => keep.has(from + i) && (kind === 'call' || kind === 'result'))

/**
 * The summary stands before the first thing that stays behind the first folded one: with the newest user message older than
 * the tail, the request then still comes after it. A step that stays whole is never split by it.
 */
function summaryPlace(draft: Draft, firstFolded: number, tailFrom: number): number {
  for (const { from, to } of draft.turns.steps) {
    if (to <= firstFolded || from >= tailFrom) continue
    const whole = mustStayWhole(draft, from, to)
    const place = firstPlace(draft, Math.max(from, firstFolded), to, (i) => whole || draft.keep.has(i))
    if (place !== undefined) return place
  }
  return placeFrom(draft, tailFrom)
}

/** The common height that the largest are cut down to so that all together fit: small ones stay whole as long as possible. */
export function levelWithin(sizes: readonly number[], budget: number): number {
  const sorted = sizes.toSorted((a, b) => a - b)
  let left = budget
  for (const [i, size] of sorted.entries()) {
    const share = left / (sorted.length - i)
    if (size > share) return share
    left -= size
  }
  return Infinity
}

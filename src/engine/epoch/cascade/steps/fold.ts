import { rangesOf } from '../../../../core/epochs.ts'
import type { EpochEdit } from '../../../../core/records.ts'
import type { Pause } from '../../../../util/yield-now.ts'
import { recordWriter, type RecordWriter } from '../../record/write-record.ts'
import { keptTokens, linkPlaces, NOTHING, type Draft, type Proposal, type SummaryAsk } from '../draft.ts'
import { account, sourceOf, WORDS_PER_TOKEN } from '../../summary/styles/index.ts'

export interface FoldOptions {
  /** Share of the limit for the newest steps that stay whole. */
  readonly tailShare: number
  /** Share of the limit for the message that stands for the folded ones. */
  readonly summaryShare: number
  /** Share of that message for a model's account. @default 0 */
  readonly modelShare?: number
}

/** A summary in band is asked for in place of the newest steps: so much of the limit is room for the question and its answer. */
const IN_BAND_TAIL = 0.15
/** Less than this says nothing; the squeeze after the fold makes room for it. */
const MIN_SUMMARY_TOKENS = 200
/** Below this share of the budget, what is unused is left alone. */
const FILL_SLACK = 0.05
const FILL_TRIES = 4
/**
 * The upper bound of what a fold aims at is no more than this share of the limit, since behind it the next steps have to come; or, where a long
 * task and instructions take most of it, than this share of what they leave.
 */
const MOST_SHARE = 0.8
const MOST_BESIDE_KEPT = 0.5
/**
 * Where the open step alone is above low water, the record still has this share of the limit as far as both fit together, and a little of it
 * even where they do not: what the step brought can be shown shorter and read again, and what was said and done before stands nowhere else.
 * Beside instructions that nearly fill the window, that little is a part of what they leave, since nothing can be shown in no room at all.
 */
const LEAST_SHARE = 0.15
const FIT_SHARE = 0.8
const LAST_SHARE = 0.1
const LAST_OF_REST = 0.35
const MOST_OF_REST = 0.5
/** Of what it stands for: the record of little is short. */
const LEAST_OF_SOURCE = 0.3

/**
 * Folds everything between the task and the newest steps into one message. Steps are atoms, so no call loses its result;
 * what must stay (see `Draft.keep`) stays in its place.
 */
export async function fold(whole: Draft, options: FoldOptions, pause: Pause): Promise<Proposal> {
  const draft = inLikelyTokens(whole)
  const fixed = keptTokens(draft)
  const budget = draft.lowTokens - fixed
  const limit = draft.limitTokens * likelyShare(whole)
  const room: Room = { budget, most: FIT_SHARE * limit - fixed, rest: limit - fixed }
  const tailShare = Math.max(options.tailShare, draft.asksInBand === true ? IN_BAND_TAIL : 0)
  let tail = Math.min(tailShare * draft.limitTokens, budget * 0.5)
  const write = recordWriter(draft, pause)
  await pause()
  let best = await foldBefore(draft, options, write, room, tail)
  // A record that has less to say than it may leaves its room to the steps that stay whole.
  for (let tries = 0; tries < FILL_TRIES && best.unused > budget * FILL_SLACK; tries++) {
    await pause()
    tail += best.unused * 0.95
    // The record keeps the measure that it was written to: it must not pay for the tail.
    const longer = await foldBefore(draft, options, write, room, tail, best.measure)
    if (longer.edits.length === 0 || longer.unused < 0) break
    best = longer
  }
  const { edits, stored, folded, text, saved, measure } = best
  const { modelShare = 0 } = options
  if (folded.length === 0 || modelShare === 0 || !draft.hasModel) return { edits, stored }
  await pause()
  // Of the fold that stands only: it writes the record once more.
  return { edits, stored, asks: [await accountOf(draft, write, folded, text, measure, saved, modelShare)] }
}

/** The draft as low water counts it. Where a count is so unsure that its bound would not fit, the bound decides how deep. */
function inLikelyTokens(draft: Draft): Draft {
  const { likely, limitTokens, lowTokens } = draft
  if (likely === undefined) return draft
  const kept = keptTokens(draft)
  const most = Math.max(MOST_SHARE * limitTokens, kept + MOST_BESIDE_KEPT * (limitTokens - kept))
  return { ...draft, ...likely, lowTokens: Math.min(lowTokens, most * likelyShare(draft)) }
}

/** Likely tokens for each token of the upper bound. */
function likelyShare({ likely, items, tokensOf, fixedTokens }: Draft): number {
  if (likely === undefined) return 1
  const bound = items.reduce((sum, item) => sum + tokensOf(item), fixedTokens)
  const tokens = items.reduce((sum, item) => sum + likely.tokensOf(item), likely.fixedTokens)
  return tokens / Math.max(1, bound)
}

/** Tokens for the record and the steps that stay whole: what low water leaves, what fits well, and what fits at all. */
interface Room {
  readonly budget: number
  readonly most: number
  readonly rest: number
}

interface Fold extends Proposal {
  /** Indexes of the items that leave, what stands for them, and what they weighed. */
  readonly folded: readonly number[]
  readonly text: string
  readonly saved: number
  /** Tokens that the record might have had. */
  readonly measure: number
  /** Tokens of the budget that nobody needs. */
  readonly unused: number
}

const NO_FOLD: Fold = { ...NOTHING, folded: [], text: '', saved: 0, measure: 0, unused: 0 }

async function foldBefore(
  draft: Draft,
  options: FoldOptions,
  write: RecordWriter,
  { budget, most, rest }: Room,
  tail: number,
  measure?: number,
): Promise<Fold> {
  const { items, turns, keep } = draft
  const tailFrom = tailStart(draft, tail)
  const folded: number[] = []
  for (const step of turns.steps) {
    if (step.from >= tailFrom) break
    if (mustStayWhole(draft, step.from, step.to)) continue
    for (let i = step.from; i < step.to; i++) if (!keep.has(i)) folded.push(i)
  }
  if (folded.length === 0) return NO_FOLD
  const at = summaryPlace(draft, folded[0]!, tailFrom)
  // The record gets what the tail leaves, within its own bounds.
  const tailTokens = rangeTokens(draft, tailFrom, items.length)
  const room = budget - tailTokens
  const share = (of: number): number => Math.min(of, options.summaryShare) * draft.limitTokens
  const saved = folded.reduce((sum, i) => sum + draft.tokensOf(items[i]!), 0)
  const least = Math.min(
    LEAST_OF_SOURCE * saved,
    Math.max(Math.min(share(LEAST_SHARE), most - tailTokens), Math.min(share(LAST_SHARE), LAST_OF_REST * rest)),
  )
  const summaryTokens =
    measure ??
    Math.max(
      Math.min(MIN_SUMMARY_TOKENS, MOST_OF_REST * rest),
      least,
      Math.min(room, options.summaryShare * draft.limitTokens),
    )
  const { text, stored } = await write(folded, Math.floor(summaryTokens))
  // A summary that is as long as its source would be a rewrite without a gain.
  const used = draft.countText(text)
  if (used >= saved) return NO_FOLD
  return {
    folded,
    text,
    saved,
    measure: summaryTokens,
    unused: room - used,
    edits: [
      ...dropEdits(draft, folded),
      { op: 'insert', at, role: 'user', text, reason: `stands for ${folded.length} folded items` },
    ],
    stored,
  }
}

/** A model's account between the head of the record and what code keeps of it; both together are no longer than code's alone. */
async function accountOf(
  draft: Draft,
  write: RecordWriter,
  folded: readonly number[],
  text: string,
  summaryTokens: number,
  sourceTokens: number,
  modelShare: number,
): Promise<SummaryAsk> {
  const maxOutputTokens = Math.floor(summaryTokens * modelShare)
  const { head, body, facts } = await write(folded, Math.floor(summaryTokens) - maxOutputTokens)
  const source = sourceOf(draft, folded)
  return {
    text,
    system: account.system(Math.floor(maxOutputTokens * WORDS_PER_TOKEN)),
    folded: source.items,
    items: source.items,
    prompt: (transcript) => account.prompt(source, transcript),
    ...(draft.instructions !== undefined && { instructions: draft.instructions }),
    maxOutputTokens,
    sourceTokens,
    wrap: (answer) =>
      `${head}\n\nAccount by a model (read from the transcript; what stands around it is verbatim):\n${answer}\n\n${body}`,
    carried: [facts].filter((part) => part !== ''),
    history: draft.items,
  }
}

/** Walks back over whole steps while they fit; the open step always stays. */
function tailStart(draft: Draft, budget: number): number {
  const { steps } = draft.turns
  let from = draft.openFrom
  let used = rangeTokens(draft, draft.openFrom, draft.items.length)
  for (let s = steps.length - 1; s >= 0; s--) {
    const step = steps[s]!
    if (step.to > draft.openFrom) continue
    used += rangeTokens(draft, step.from, step.to)
    if (used > budget) break
    from = step.from
  }
  return from
}

/** A kept call or result keeps its whole step: half of a pair is no valid request. */
export function mustStayWhole(draft: Draft, from: number, to: number): boolean {
  for (let i = from; i < to; i++) {
    const kind = draft.items[i]!.kind
    if (draft.keep.has(i) && (kind === 'call' || kind === 'result')) return true
  }
  return false
}

/**
 * The summary stands before the first thing that stays behind the first folded one: with the newest user message older than
 * the tail, the request then still comes after it. A step that stays whole is never split by it.
 */
export function summaryPlace(draft: Draft, firstFolded: number, tailFrom: number): number {
  const places = linkPlaces(draft)
  const firstChained = (from: number, to: number, wanted: (i: number) => boolean): number | undefined => {
    for (let i = from; i < to; i++) if (places[i]! >= 0 && wanted(i)) return places[i]
    return undefined
  }
  for (const { from, to } of draft.turns.steps) {
    if (to <= firstFolded || from >= tailFrom) continue
    const whole = mustStayWhole(draft, from, to)
    const place = firstChained(Math.max(from, firstFolded), to, (i) => whole || draft.keep.has(i))
    if (place !== undefined) return place
  }
  return firstChained(tailFrom, draft.items.length, () => true) ?? draft.links.length
}

function dropEdits(draft: Draft, folded: readonly number[]): EpochEdit[] {
  const places = linkPlaces(draft)
  return rangesOf(
    folded
      .map((index) => ({ place: places[index]!, reason: 'folded into the summary' }))
      .filter(({ place }) => place >= 0),
  )
}

function rangeTokens(draft: Draft, from: number, to: number): number {
  let sum = 0
  for (let i = from; i < to; i++) sum += draft.tokensOf(draft.items[i]!)
  return sum
}

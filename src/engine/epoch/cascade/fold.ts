import type { FoldStep } from '../../../core/policy.ts'
import { recordWriter, type RecordWriter } from '../record/write-record.ts'
import { excerptOf } from '../summary/transcript.ts'
import {
  dropEdits,
  keptTokens,
  mustStayWhole,
  NOTHING,
  summaryPlace,
  type Draft,
  type Proposal,
  type SummaryAsk,
} from './draft.ts'
import { LANGUAGE, sourceOf, WORDS_PER_TOKEN } from './summarise.ts'

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
export function fold(whole: Draft, options: FoldStep): Proposal {
  const draft = inLikelyTokens(whole)
  const fixed = keptTokens(draft)
  const budget = draft.lowTokens - fixed
  const limit = draft.limitTokens * likelyShare(whole)
  const room: Room = { budget, most: FIT_SHARE * limit - fixed, rest: limit - fixed }
  const tailShare = Math.max(options.tailShare, draft.asksInBand === true ? IN_BAND_TAIL : 0)
  let tail = Math.min(tailShare * draft.limitTokens, budget * 0.5)
  const write = recordWriter(draft)
  let best = foldBefore(draft, options, write, room, tail)
  // A record that has less to say than it may leaves its room to the steps that stay whole.
  for (let tries = 0; tries < FILL_TRIES && best.unused > budget * FILL_SLACK; tries++) {
    tail += best.unused * 0.95
    // The record keeps the measure that it was written to: it must not pay for the tail.
    const longer = foldBefore(draft, options, write, room, tail, best.measure)
    if (longer.edits.length === 0 || longer.unused < 0) break
    best = longer
  }
  const { edits, stored, folded, text, saved, measure } = best
  const { modelShare = 0 } = options
  if (folded.length === 0 || modelShare === 0 || !draft.hasModel) return { edits, stored }
  // Of the fold that stands only: it writes the record once more.
  return { edits, stored, asks: [accountOf(draft, write, folded, text, measure, saved, modelShare)] }
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
  /** Tokens of the budget that are not used. */
  readonly unused: number
}

const NO_FOLD: Fold = { ...NOTHING, folded: [], text: '', saved: 0, measure: 0, unused: 0 }

function foldBefore(
  draft: Draft,
  options: FoldStep,
  write: RecordWriter,
  { budget, most, rest }: Room,
  tail: number,
  measure?: number,
): Fold {
  const { items, turns, keep } = draft
  const tailFrom = tailWithin(draft, tail)
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
  const { text, stored } = write(folded, Math.floor(summaryTokens))
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
      ...dropEdits(draft, folded, 'folded into the summary'),
      { op: 'insert', at, role: 'user', text, reason: `stands for ${folded.length} folded items` },
    ],
    stored,
  }
}

/**
 * A model's account between the head of the record and what code keeps of it; both together are no longer than code's alone. User messages, plan,
 * files, commands and excerpts stand around it word for word, so the model is asked only for what code cannot write: what it means.
 */
function accountOf(
  draft: Draft,
  write: RecordWriter,
  folded: readonly number[],
  text: string,
  summaryTokens: number,
  sourceTokens: number,
  modelShare: number,
): SummaryAsk {
  const maxOutputTokens = Math.floor(summaryTokens * modelShare)
  const { head, body, facts } = write(folded, Math.floor(summaryTokens) - maxOutputTokens)
  const { items, request, plan } = sourceOf(draft, folded)
  return {
    text,
    system:
      'You hand your work over to a colleague. Your account stands beside every user message, the plan, files, commands and excerpts word for ' +
      'word: do not repeat those. Use five headings: Intent; Findings (each with the file, symbol or message that shows it); Decisions (and what ' +
      'failed); State (done, half done, broken); Next step (the very next action). Name things exactly as they occur, and nothing that does ' +
      `not occur. Use at most ${Math.floor(maxOutputTokens * WORDS_PER_TOKEN)} words. ${LANGUAGE}`,
    folded: items,
    items,
    prompt: (transcript) =>
      [
        `The user's current request: ${excerptOf(request, 2_000)}`,
        ...(plan === undefined ? [] : [`The plan as last written:\n${plan}`]),
        `Transcript:\n${transcript}`,
      ].join('\n\n'),
    instructions: draft.instructions,
    maxOutputTokens,
    sourceTokens,
    wrap: (answer) =>
      `${head}\n\nAccount by a model (read from the transcript; what stands around it is verbatim):\n${answer}\n\n${body}`,
    carried: facts === '' ? [] : [facts],
    history: draft.items,
  }
}

/** Walks back over whole steps while they fit; the open step always stays. */
function tailWithin(draft: Draft, budget: number): number {
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

function rangeTokens(draft: Draft, from: number, to: number): number {
  let sum = 0
  for (let i = from; i < to; i++) sum += draft.tokensOf(draft.items[i]!)
  return sum
}

import type { FoldStep } from '../../../core/policy.ts'
import { USER_SHARE, writeRecord } from '../record/write-record.ts'
import { excerptOf } from '../summary/transcript.ts'
import { foldableIn, keptTokens, NOTHING, standIn, type Draft, type Proposal, type SummaryAsk } from './draft.ts'
import { LANGUAGE, sourceOf, WORDS_PER_TOKEN } from './summarise.ts'

/** A summary in band is asked for in place of the newest steps: so much of the limit is room for the question and its answer. */
const IN_BAND_TAIL = 0.15
/**
 * Where the open step alone is above low water, the record still has this share of the limit as far as both fit together, and a little of it
 * even where they do not: what the step brought can be shown shorter and read again, and what was said and done before stands nowhere else.
 * Beside instructions that nearly fill the window, that little is a part of what they leave, since nothing can be shown in no room at all.
 */
const LEAST_SHARE = 0.15
const FIT_SHARE = 0.8
const LAST_SHARE = 0.1
const LAST_OF_REST = 0.35
/** What words leave free for the next turns, by the likely count and by its upper bound: with less, each turn would need a compaction. */
const FREE_SHARE = 0.08
const FREE_OF_BOUND = 0.04
/** The same where tools bring more with each turn, by the upper bound. */
const WORK_SHARE = 0.12
/**
 * The upper bound of what a fold aims at is no more than this share of the limit, since the next steps come behind it; or, where a long task and
 * instructions take most of it, than this share of what they leave.
 */
const MOST_SHARE = 0.8
const MOST_BESIDE_KEPT = 0.5
/** Of what it stands for: the record of little is short. */
const LEAST_OF_SOURCE = 0.3

/** Below this share of the budget, what is unused is left alone. */
const FILL_SLACK = 0.05
const FILL_TRIES = 4

/**
 * Folds everything between the task and the newest steps into one message. Steps are atoms, so no call loses its result;
 * what must stay (see `Draft.keep`) stays in its place.
 */
export function fold(bound: Draft, options: FoldStep): Proposal {
  const draft = inLikelyTokens(bound)
  const fixed = keptTokens(draft)
  const budget = draft.lowTokens - fixed
  const share = likelyShare(bound)
  const rooms: Rooms = {
    budget,
    rest: draft.limitTokens * share - fixed,
    spokenRest: isTalk(draft)
      ? draft.limitTokens * Math.min(1 - FREE_SHARE, (1 - FREE_OF_BOUND) * share) - fixed
      : draft.limitTokens * (share - WORK_SHARE) - fixed,
  }
  const ownTail = Math.max(options.tailShare, draft.asksInBand === true ? IN_BAND_TAIL : 0) * draft.limitTokens
  let tail = Math.min(ownTail, budget * 0.5)
  let best = foldBefore(draft, options, rooms, tail)
  // A record that has less to say than it may leaves its room to the steps that stay whole, and must not pay for them.
  for (let tries = 0; tries < FILL_TRIES && best !== undefined && best.unused > best.room * FILL_SLACK; tries++) {
    tail += best.unused * 0.95
    const longer = foldBefore(draft, options, rooms, tail, best)
    if (longer === undefined || longer.unused < 0) break
    best = longer
  }
  if (best === undefined) return NOTHING
  const { folded, text, stored, measure, saved } = best
  const { modelShare = 0 } = options
  const account =
    modelShare > 0 && draft.hasModel ? accountOf(draft, folded, text, measure, saved, modelShare) : undefined
  return {
    edits: standIn(draft, folded, text, {
      dropped: 'folded into the summary',
      inserted: `stands for ${folded.length} folded items`,
    }),
    // What stands around an account is shorter than code's own record, and names handles of its own.
    stored: new Map([...stored, ...(account?.stored ?? [])]),
    asks: account && [account.ask],
  }
}

/** The draft as low water counts it. Where a count is so unsure that its upper bound would not fit, the bound decides how deep a fold goes. */
function inLikelyTokens(draft: Draft): Draft {
  const { likely, limitTokens, lowTokens } = draft
  if (likely === undefined) return draft
  const kept = keptTokens(draft)
  const most = Math.max(MOST_SHARE * limitTokens, kept + MOST_BESIDE_KEPT * (limitTokens - kept))
  return { ...draft, ...likely, lowTokens: Math.min(lowTokens, most * likelyShare(draft)) }
}

/** What a fold aims at, all that fits, and what may be used for what was said; each without what stays anyway. */
interface Rooms {
  readonly budget: number
  readonly rest: number
  readonly spokenRest: number
}

/** How an earlier try filled its room: with a record of so much, and a tail. */
interface Filled {
  readonly measure: number
  readonly tail: number
  readonly room: number
  readonly unused: number
}

/** The record of all that stands before a tail of so many tokens; undefined where it would gain nothing. */
function foldBefore(
  draft: Draft,
  { summaryShare }: FoldStep,
  { budget, rest, spokenRest }: Rooms,
  tailTokens: number,
  given?: Filled,
) {
  const { items, limitTokens } = draft
  const tailFrom = tailWithin(draft, tailTokens)
  const folded = foldableIn(draft, 0, tailFrom)
  if (folded.length === 0) return undefined
  const saved = folded.reduce((sum, i) => sum + draft.tokensOf(items[i]!), 0)
  // The record gets what the tail leaves, within its own bounds.
  const tail = rangeTokens(draft, tailFrom, items.length)
  const fitting = Math.min(
    Math.min(LEAST_SHARE, summaryShare) * limitTokens,
    rest - (1 - FIT_SHARE) * limitTokens - tail,
  )
  const least = Math.max(fitting, Math.min(Math.min(LAST_SHARE, summaryShare) * limitTokens, LAST_OF_REST * rest))
  const measure =
    given === undefined
      ? Math.max(
          Math.min(LEAST_OF_SOURCE * saved, least),
          Math.min(budget - tail, summaryShare * limitTokens),
          // What was said stays while the window has room for it, whatever the aim of this compaction is.
          Math.min(spokenTokens(draft, folded) / USER_SHARE, spokenRest - tail),
        )
      : // Where the next step does not fit into what is unused, the record has it.
        given.measure + (isTalk(draft) && tail === given.tail ? 0.95 * given.unused : 0)
  const { text, stored } = writeRecord(draft, folded, Math.floor(measure))
  const used = draft.countText(text)
  // Behind the task: the record, and the steps that stay whole.
  const room = given?.room ?? (isTalk(draft) ? Math.max(budget, measure + tail) : budget)
  // A summary that is as long as its source would be a rewrite without a gain.
  return used >= saved ? undefined : { folded, text, stored, saved, measure, room, tail, unused: room - tail - used }
}

/** Whether nothing was done but talk. */
const isTalk = ({ items }: Draft): boolean => !items.some(({ kind }) => kind === 'call' || kind === 'result')

/** Tokens of what people wrote; where nothing was done but talk, of what the model answered as well. */
function spokenTokens(draft: Draft, folded: readonly number[]): number {
  const { items, tokensOf } = draft
  const areAnswersToo = isTalk(draft)
  const spoken = folded.filter((index) => {
    const { kind } = items[index]!
    return kind === 'user' || (areAnswersToo && kind === 'assistant')
  })
  return spoken.reduce((sum, index) => sum + tokensOf(items[index]!), 0)
}

/** Likely tokens for each token of the upper bound. */
function likelyShare({ likely, items, tokensOf, fixedTokens }: Draft): number {
  if (likely === undefined) return 1
  const bound = items.reduce((sum, item) => sum + tokensOf(item), fixedTokens)
  const tokens = items.reduce((sum, item) => sum + likely.tokensOf(item), likely.fixedTokens)
  return tokens / Math.max(1, bound)
}

/**
 * A model's account between the head of the record and what code keeps of it; both together are no longer than code's alone. User messages, plan,
 * files, commands and excerpts stand around it word for word, so the model is asked only for what code cannot write: what it means.
 */
function accountOf(
  draft: Draft,
  folded: readonly number[],
  text: string,
  summaryTokens: number,
  sourceTokens: number,
  modelShare: number,
): { readonly ask: SummaryAsk; readonly stored: Proposal['stored'] } {
  const maxOutputTokens = Math.floor(summaryTokens * modelShare)
  const { head, body, facts, stored } = writeRecord(draft, folded, Math.floor(summaryTokens) - maxOutputTokens)
  const { items, request, plan } = sourceOf(draft, folded)
  const ask: SummaryAsk = {
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
  return { ask, stored }
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

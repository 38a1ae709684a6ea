import type { Item } from '../../../core/item.ts'
import type { Policy, SummariseStep } from '../../../core/policy.ts'
import {
  foldableIn,
  headEnd,
  mustStayWhole,
  NOTHING,
  storedText,
  tailStart,
  workingRoom,
  type Draft,
  type PlannedSoFar,
  type Proposal,
} from '../../epoch/cascade/draft.ts'
import {
  LANGUAGE,
  newestWithin,
  QUOTE_BYTES,
  summarise,
  type Closing,
  type Style,
} from '../../epoch/cascade/summarise.ts'
import { excerptOf } from '../../epoch/summary/transcript.ts'
import { messagesOf } from '../../epoch/thresholds.ts'
import type { Design } from '../design.ts'
import { contextguardMeter } from './estimate.ts'

/** Tokens below the window at which it reduces: a fixed buffer for large windows, a share of smaller ones. */
const marginOf = (window: number): number => (window >= 200_000 ? 20_000 : Math.floor(window * 0.2))

/** A summary may take half of that. */
const summaryTokens = ({ windowTokens }: Draft, { maxTokens = Infinity }: SummariseStep): number =>
  Math.min(maxTokens, Math.floor(0.5 * marginOf(windowTokens)))

const planPart = (plan: string | undefined): string =>
  plan === undefined
    ? ''
    : `\n\nCurrent todo list, to be kept under its own heading and restored with the todos tool:\n${plan}`

/** contextguard: a hand-over in four sections; its fallback is the first 200 bytes of each text. */
export const handover: Style = {
  system: (words) =>
    `You hand your work over to a colleague who knows nothing about it. Summarize the conversation under four headings: ` +
    `Current State; Key Information; Context & Decisions; Exact Next Steps. Name files, commands, identifiers, errors and ` +
    `decisions exactly. Use at most ${words} words. ${LANGUAGE}`,
  prompt: ({ request, plan }, transcript) =>
    `The user's current request: ${excerptOf(request, QUOTE_BYTES)}\n\nTranscript:\n${transcript}${planPart(plan)}`,
  fallback: ({ items }, capTokens, countText) => {
    const lines = items
      .filter((item) => item.text !== '' && (item.kind === 'user' || item.kind === 'assistant'))
      .map((item) => `${item.role}: ${excerptOf(item.text, 200)}`)
    return newestWithin(lines, capTokens, countText)
  },
}

const FALLBACK_SHARE = 0.5

/** The threshold strategy: everything becomes one summary, and a continuation that quotes the request. */
function foldAll(draft: Draft, step: SummariseStep, before: PlannedSoFar): Proposal {
  if (before.projected <= (step.above === undefined ? draft.lowTokens : step.above * draft.limitTokens)) return NOTHING
  const folded = everything(draft, step.tail === 0 ? draft.openFrom : tailStart(draft, step.tail, 'messages'))
  // The default factor is a guess: for that alone no request is quoted in part.
  const free = draft.sparesWords === true ? Infinity : Math.max(0, draft.limitTokens - draft.fixedTokens)
  return summarise(draft, {
    folded,
    style: handover,
    // Where instructions and tools leave next to nothing, summary and continuation share that.
    maxTokens: Math.min(summaryTokens(draft, step), free / 2),
    // The document bounds what a model writes; its excerpts have no bound, and take what is free until the next one.
    fallbackTokens: FALLBACK_SHARE * workingRoom(draft),
    closing: ({ request }, summaryTokens) => continuation(draft, request, free - summaryTokens),
  })
}

/** The sliding window: the first message, a summary, and the newest; about the number of messages, whatever they weigh. */
const foldMiddle = (draft: Draft, step: SummariseStep): Proposal =>
  summarise(draft, {
    folded: foldableIn(draft, headEnd(draft, 1), tailStart(draft, step.tail, 'messages')),
    style: handover,
    maxTokens: summaryTokens(draft, step),
    fallbackTokens: FALLBACK_SHARE * workingRoom(draft),
  })

/** All that is not pinned, the newest user message too: the continuation quotes it. */
function everything(draft: Draft, to: number): number[] {
  const bare: Draft = { ...draft, keep: draft.pinned }
  const indexes: number[] = []
  for (const step of draft.turns.steps) {
    if (step.to > to || mustStayWhole(bare, step.from, step.to)) continue
    if (step.pending) continue
    for (let i = step.from; i < step.to; i++) if (!draft.pinned.has(i)) indexes.push(i)
  }
  return indexes
}

const CONTINUATION =
  'The conversation was compacted to stay within the context window. The summary above says what was done and what comes ' +
  'next. Continue working now; do not ask the user to repeat anything.'

/** A quoted request is whole up to this share of the limit; of a longer one the rest is behind a handle. */
const QUOTE_SHARE = 0.25
const LEAST_QUOTE_BYTES = 40

function continuation(draft: Draft, request: string, free: number): Closing {
  if (request === '') return { text: CONTINUATION, stored: new Map() }
  const handle = draft.handleOf(request)
  const quoting = (quote: string): string =>
    `The conversation was compacted. The user's current request is: \`${quote}\`` +
    `${quote === request ? '' : ` (all of it is stored as ${handle})`}. Continue working; do not ask the user to repeat anything.`
  const whole: Item = { id: '', kind: 'user', role: 'user', text: request, message: -1 }
  const most = Math.min(free, QUOTE_SHARE * draft.limitTokens)
  if (draft.countText(quoting(request)) <= most) return { text: quoting(request), stored: new Map() }
  let bytes = QUOTE_BYTES
  while (bytes > LEAST_QUOTE_BYTES && draft.countText(quoting(excerptOf(request, bytes))) > free) bytes *= 0.8
  return { text: quoting(excerptOf(request, Math.floor(bytes))), stored: new Map([[handle, storedText(whole)]]) }
}

/** Wire messages behind the newest one of ours; all of them where there is none. */
const messagesSinceSummary = (items: readonly Item[]): number =>
  messagesOf(items.slice(items.findLastIndex(({ message }) => message < 0) + 1)).length

const contextguardDesign: Design = {
  name: 'contextguard',
  meter: contextguardMeter,
  highWater: ({ window }) => window - marginOf(window),
  startsAtHighWater: true,
  compactsInARow: true,
  steps: { summarise: foldAll },
}

/**
 * contextguard (Go, ADK): the threshold strategy. Calibrated bytes / 4 against window - buffer; at the line everything becomes one
 * summary and a continuation.
 *
 * Choices where the document contradicts itself: a window of exactly 200,000 has the fixed buffer (20,000), the default factor is
 * 2.5 (2.0 and 1.5 are also written), three passes; the line itself compacts.
 *
 * Deviations, with the promise that each keeps: the open tool step and pending calls stay (7); the continuation quotes the request
 * whole up to a quarter of the limit, and its first and last 2,000 bytes beyond (1) and stays in place afterwards (5); arguments and results reach the summarizer (8);
 * a later summary is written from the archive, not from its predecessor, so that no mistake is summarised again (8);
 * code carries task, plan, refusals and files through (8); a summary that is rejected or does not fit gives way to the excerpts,
 * which are capped (1, 6); a third compaction in a row happens only where the request would be refused otherwise, and asks no model (6); a
 * result of the open step that is larger than the window is shown as preview + handle (1).
 */
export const contextguard: Policy = {
  name: 'contextguard',
  design: contextguardDesign,
  water: { high: 1, low: 0.1, warn: 0.8, rest: 0.05 },
  buffer: { fraction: 0, min: 0, max: 0 },
  reserve: 'wire',
  // Every result comes in as it is; what is too large for the window is the cascade's work.
  intake: { maxShare: Infinity, previewShare: 0.25 },
  estimator: { defaultFactor: 2.5 },
  passes: 3,
  cascade: [
    { step: 'summarise', tail: 0 },
    { step: 'squeeze', floorTokens: 40, above: 0.7, to: 0.5 },
    { step: 'squeeze', floorTokens: 40 },
  ],
}

/**
 * contextguard's second strategy: more than `maxTurns` messages since the last compaction; the newest 30 % (at least 3) stay whole.
 *
 * Deviations: the watermark is where the kept tail begins, not the end of the history (3: the original lost the tail with the next
 * call); a summarizer that fails is replaced by excerpts instead of failing the call (1); where the kept tail alone is too large, its
 * largest parts become preview + handle instead of halving the tail (7), and all of it one summary where that is not enough (1).
 */
export const slidingWindow = (maxTurns = 20): Policy => ({
  ...contextguard,
  name: 'contextguard-window',
  design: {
    ...contextguardDesign,
    messages: { most: maxTurns + 1, count: messagesSinceSummary },
    steps: {
      summarise: (draft, step, before) =>
        step.above === undefined ? foldMiddle(draft, step) : foldAll(draft, step, before),
    },
  } satisfies Design,
  cascade: [
    { step: 'summarise', tail: Math.max(3, Math.floor(maxTurns * 0.3)) },
    { step: 'squeeze', floorTokens: 40, above: 0.7, to: 0.5 },
    // What this strategy would leave too large becomes what the other one makes of it.
    { step: 'summarise', tail: 0, above: 1 },
    { step: 'squeeze', floorTokens: 40 },
  ],
})

export const contextguardWindow: Policy = slidingWindow()

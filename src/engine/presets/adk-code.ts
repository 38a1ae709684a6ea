import type { Item } from '../../core/item.ts'
import type { GuardRule, Policy, SummariseStep } from '../../core/policy.ts'
import type { PriceModel } from '../../core/price.ts'
import type { PresentOptions } from '../deps.ts'
import {
  foldableIn,
  headEnd,
  NOTHING,
  tailStart,
  type Draft,
  type PlannedSoFar,
  type Proposal,
} from '../epoch/cascade/draft.ts'
import { LANGUAGE, QUOTE_BYTES, summarise, type Style } from '../epoch/cascade/summarise.ts'
import { excerptOf } from '../epoch/summary/transcript.ts'
import { headTail, byteLength } from '../intake/text.ts'
import { plainMeter, type Design, type DesignView } from './design.ts'
import { ADDRESS_BYTES, CAUTION, type LoadEstimator } from './shared.ts'

/** Above either a result is large. */
const ADK_CODE_TRIGGERS = { bytes: 10_240, lines: 256 }

/**
 * Head + tail: more than 10 KiB or more than 256 lines become the first and the last 128 with an exact marker.
 *
 * Deviations: the original cut the end off when head and tail were still above 10 KiB and added its note on top of the limit,
 * and it showed inputs of up to 128 lines twice. Here lines go from the middle, the limit holds with the marker in it, and one
 * long line is cut by characters at both ends (promises 1 and 3).
 */
export function adkCodeGuard(
  { bytes = ADK_CODE_TRIGGERS.bytes, lines = ADK_CODE_TRIGGERS.lines }: GuardRule,
  text: string,
  { handle }: Pick<PresentOptions, 'handle'>,
): DesignView {
  const half = Math.floor(lines / 2)
  const shown = headTail(text, { headLines: half, tailLines: half, maxBytes: bytes - ADDRESS_BYTES })
  return { text: `${shown.text}\n[Full output: ${handle}]` }
}

/** Bytes / 4 of each item, whole numbers. */
export const adkCodeEstimator: LoadEstimator = ({ head, items }) =>
  [...head, ...items].reduce((sum, { text }) => sum + Math.floor(byteLength(text) / 4), 0)

/** The one price that the document lists. It differs from AutoSRE's for the same model. */
export const ADK_CODE_PRICES: Readonly<Record<string, PriceModel>> = {
  'gemini-2.5-flash': { input: 0.075, output: 0.3 },
}

/**
 * adk-code: what the user wants, in two or three sentences, from the user's messages. Where the folded part holds none, as in one long run
 * of tools, from what was done for the request that stands.
 */
export const intent: Style = {
  system: () =>
    `Summarize the user's intent in 2-3 sentences; where the transcript holds no words of the user, what was done for the request so far. ${LANGUAGE}`,
  reads: (items) => {
    const said = items.filter((item) => item.kind === 'user')
    return said.length > 0 ? said : items
  },
  prompt: ({ items, request }, transcript) =>
    items.some((item) => item.kind === 'user')
      ? transcript
      : `The user's request: ${excerptOf(request, QUOTE_BYTES)}\n\nWhat was done for it:\n${transcript}`,
  fallback: ({ items }) => {
    const said = items.filter((item) => item.kind === 'user').length
    const done = workDone(items)
    const parts = [
      ...(said > 0 ? [`The conversation so far had ${said} user messages.`] : []),
      ...(done === '' ? [] : [done]),
    ]
    return parts.join(' ')
  },
}

/** Which tools were called, how often, and how many of the calls failed. */
function workDone(items: readonly Item[]): string {
  const calls = new Map<string, number>()
  for (const { kind, toolName = 'unknown' } of items)
    if (kind === 'call') calls.set(toolName, (calls.get(toolName) ?? 0) + 1)
  if (calls.size === 0) return ''
  const failed = items.filter((item) => item.kind === 'result' && item.isError === true).length
  const total = [...calls.values()].reduce((sum, count) => sum + count, 0)
  const named = [...calls].sort((a, b) => b[1] - a[1]).slice(0, 8)
  const tools = named.map(([tool, count]) => `${tool} ${count}×`).join(', ')
  return `${total} tool calls were made since then: ${tools}${calls.size > named.length ? ' and others' : ''}${failed > 0 ? `; ${failed} failed` : ''}.`
}

/** The first message, a summary of what the user wants, and the last ten messages. */
function foldMiddle(draft: Draft, { tail, maxTokens = Infinity }: SummariseStep, before: PlannedSoFar): Proposal {
  if (before.projected <= draft.lowTokens) return NOTHING
  return summarise(draft, {
    folded: foldableIn(draft, headEnd(draft, 1), tailStart(draft, tail, 'messages')),
    style: intent,
    maxTokens: Math.min(maxTokens, Math.floor(0.05 * draft.limitTokens)),
  })
}

const adkCodeDesign: Design = {
  name: 'adk-code',
  meter: (base) => plainMeter(base, adkCodeEstimator),
  // Shares of the whole window.
  highWater: ({ window }, { high }) => Math.floor(high * window),
  lowWater: ({ window }, { low }) => low * window,
  steps: { summarise: foldMiddle },
  guard: adkCodeGuard,
  // The nearest marker of any kind.
  instructions: { folder: '.adk-code', root: 'nearest' },
}

/**
 * adk-code ADR-0006 (Go): head + tail of each output, tokens per turn, compaction above 70 % of the window to initial context +
 * summary of the user's intent + the last 10 messages.
 *
 * Choices: strictly above 70 % of the whole window; 10 % of it is held back for the answer where the window holds the answer too, and nothing
 * above 95 % of it leaves on any wire. "50K to below 5K" and
 * "the last 10 in full" cannot both hold: where the last 10 are small the first does, else they win up to low water (a tenth of the
 * window) and the largest of them become handles.
 *
 * Deviations, with the promise that each keeps: assistant and tool content is archived instead of vanishing (3); call and result
 * stay together (2); what comes in while a summary is written stays behind it (4); the facts of the work are carried beside the two
 * or three sentences (8); turns remaining come from the growth of the load, not from the sum of all prompts (9).
 */
export const adkCode = (): Policy => ({
  name: 'adk-code',
  design: adkCodeDesign,
  water: { high: 0.7, low: 0.1, warn: 0.6, rest: 0.05 },
  buffer: { fraction: 0, min: 0, max: 0 },
  reserve: 0.1,
  stop: 0.95,
  caution: CAUTION,
  defaultWindow: 1_000_000,
  intake: { maxShare: 0.25, previewShare: 0.1, guard: ADK_CODE_TRIGGERS },
  prices: ADK_CODE_PRICES,
  // Asynchronous, as in the document: from here on the summary is written beside the requests, and serves when 70 % are reached.
  summaries: { backgroundFrom: 0.6 },
  cascade: [
    { step: 'summarise', tail: 10, maxTokens: 1_000 },
    { step: 'squeeze', floorTokens: 120, above: 0.105, to: 0.1 },
    { step: 'squeeze', floorTokens: 120 },
  ],
})

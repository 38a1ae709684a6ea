import type { CompressStep, Policy, SummariseStep, WindowStep, Zones } from '../../../core/policy.ts'
import { messagesOf } from '../../epoch/thresholds.ts'
import { type Design, plainMeter } from '../design.ts'
import { CAUTION, type Environment, integerOf, isTrue, shareOf } from '../shared.ts'
import {
  CYBER_DEFAULTS,
  type CyberLimits,
  compressedInput,
  compressedResult,
  cyberGuard,
  readCyberLimits,
} from './compress.ts'
import { cyberEstimate, decisionLines, reductionLines, unreadLines } from './estimate.ts'
import type { Handle } from '../../../core/handles.ts'
import type { Item } from '../../../core/item.ts'
import type { EpochEdit } from '../../../core/records.ts'
import {
  type Draft,
  NOTHING,
  type PlannedSoFar,
  type Proposal,
  type StoredText,
  foldableIn,
  headEnd,
  sizeOf,
  standIn,
  storedText,
  tailStart,
} from '../../epoch/cascade/draft.ts'
import { LANGUAGE, type Style, summarise } from '../../epoch/cascade/summarise.ts'
import { transcriptWithin } from '../../epoch/summary/transcript.ts'

/** Below this many messages there is nothing old enough to compress. */
const SMALL_CONVERSATION = 3

/**
 * Cyber-AutoAgent's layer 1 on what stands between the zones. Inputs of calls keep their structure; their cut values say that they
 * are cut, since models copy what they see into new calls.
 */
const compressResults =
  (window: number) =>
  (draft: Draft, step: CompressStep): Proposal => {
    const { from, to } = between(draft, step, window)
    const limits: CyberLimits = { ...CYBER_DEFAULTS, compressChars: step.fromChars, truncateChars: step.toChars }
    const { places } = draft
    const edits: EpochEdit[] = []
    const stored = new Map<Handle, StoredText>()
    if (draft.turns.steps.length < SMALL_CONVERSATION) return { edits, stored }
    for (let index = from; index < to; index++) {
      const item = draft.items[index]!
      if (places[index]! < 0 || item.sealed === true || item.serverSide === true) continue
      const text = compressed(item, limits)
      if (text === undefined || text.length >= item.text.length) continue
      const handle = draft.handleOf(item.text)
      edits.push({
        op: 'replace',
        at: places[index]!,
        text: item.kind === 'result' ? `${text}\n[complete: ${handle}]` : text,
        handle,
        reason: `${item.text.length} characters compressed`,
      })
      stored.set(handle, storedText(item))
    }
    return { edits, stored }
  }

function compressed({ kind, text }: Item, limits: CyberLimits): string | undefined {
  if (kind === 'result') return compressedResult(text, limits)
  return kind === 'call' ? compressedInput(text, limits) : undefined
}

/**
 * A window over whole steps: from `size` on the oldest between the zones go until `target` of it is left. A line stands in their
 * place, so that the model knows where the history begins; the archive has all of it.
 */
const slideWindow =
  (window: number) =>
  (draft: Draft, step: WindowStep): Proposal => {
    const { size, target = 0.9 } = step
    const have = sizeOf(draft, 0, draft.items.length, 'messages')
    if (have < size) return NOTHING
    // The line that stands for what went is a message too.
    const excess = have - Math.max(1, Math.floor(size * target)) + 1
    const { from, to } = between(draft, step, window)
    const dropped: number[] = []
    let freed = 0
    for (const { from: start, to: end } of draft.turns.steps) {
      if (freed >= excess) break
      if (start < from || end > to) continue
      const gone = foldableIn(draft, start, end)
      if (gone.length === 0) continue
      dropped.push(...gone)
      freed += sizeOf(draft, start, end, 'messages')
    }
    if (dropped.length === 0) return NOTHING
    const recall = draft.readers.get('recall')
    const text = `[${dropped.length} earlier items left the window; they are archived.${recall === undefined ? '' : ` Search them with ${recall}.`}]`
    const reasons = {
      dropped: `outside the window of ${size} messages`,
      inserted: `stands for ${dropped.length} items outside the window`,
    }
    return { edits: standIn(draft, dropped, text, reasons), stored: new Map() }
  }

/** The zones together are at most half of the window, by lowering the last one. */
const ZONES_SHARE = 0.5

/** The range between the zones, as item indexes; empty when they cover everything. */
function between(
  draft: Draft,
  { preserveFirst = 1, preserveLast }: Zones,
  window: number,
): { from: number; to: number } {
  const most = Math.max(0, Math.floor(ZONES_SHARE * window) - preserveFirst)
  const to = tailStart(draft, Math.min(preserveLast, most), 'messages')
  return { from: Math.min(headEnd(draft, preserveFirst), to), to }
}

/** A plain summary of the oldest part; code keeps what people said and what the tools were asked. */
export const record: Style = {
  system: (words) =>
    `Summarize this part of a conversation in at most ${words} words: topics, tools used with what they found, decisions, ` +
    `open questions, as bullets in the third person. ${LANGUAGE}`,
  fallback: ({ items }, capTokens, countText) => transcriptWithin(items, capTokens, countText),
}

/**
 * The design takes its share of what the last summary left; here every summary is written from the whole history. So a later one takes as much
 * as leaves this share of the window free; a share of the whole would be asked for again within a few steps.
 */
const LASTING = 0.15
const LARGER = [0.45, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1]

/** Layers 3 and 4: the oldest share of the messages, as long as the estimate of what earlier layers left is at the threshold, or above a share of the window. */
function summariseOldest(
  draft: Draft,
  { scope = 0.3, tail, above, maxTokens = Infinity }: SummariseStep,
  { gone, items }: PlannedSoFar,
): Proposal {
  const line = above === undefined ? draft.lowTokens : draft.windowTokens * above
  const left = items()
  const estimate = draft.estimate ?? (() => Infinity)
  if (estimate(left) < line) return NOTHING
  const tailFrom = tailStart(draft, tail, 'messages')
  const foldedBy = (share: number): number[] => foldableIn(draft, 0, Math.min(oldestEnd(draft, share, gone), tailFrom))
  const lasts = (share: number): boolean => {
    const ids = new Set(foldedBy(share).map((index) => draft.items[index]!.id))
    return estimate(left.filter(({ id }) => !ids.has(id))) <= line - LASTING * draft.windowTokens
  }
  return summarise(draft, {
    folded: foldedBy(
      draft.isAgain === true ? ([scope, ...LARGER].find((share) => share >= scope && lasts(share)) ?? 1) : scope,
    ),
    style: record,
    maxTokens: Math.min(maxTokens, Math.floor(0.05 * draft.limitTokens)),
  })
}

/** Where a share of the messages that earlier steps left ends. What they took out is told of as well. */
function oldestEnd(draft: Draft, share: number, gone: (index: number) => boolean): number {
  const left = draft.turns.steps.map(({ from, to }) => (gone(from) ? 0 : sizeOf(draft, from, to, 'messages')))
  const wanted = Math.max(1, Math.floor(share * left.reduce((sum, size) => sum + size, 0)))
  let held = 0
  const last = left.findIndex((size) => (held += size) >= wanted)
  return draft.turns.steps[last]?.to ?? 0
}

/** Never above this share, whatever a warm cache adds. */
const CEILING = 0.98

export const cyberDesign = (window: number, cacheRelax: number): Design => ({
  name: 'cyber-autoagent',
  meter: (base, _rule, { onEvent }) =>
    plainMeter(base, (conversation, model) => cyberEstimate(conversation, model, onEvent)),
  // Shares of the whole window, and more of it where the last answer was served from the prompt cache.
  highWater: (limit, { high }, cacheIsWarm) =>
    Math.floor((cacheIsWarm && cacheRelax > 0 ? Math.min(CEILING, high + cacheRelax) : high) * limit.window),
  lowWater: (limit, { low }) => low * limit.window,
  startsAtHighWater: true,
  messages: { most: Math.floor(window * 0.7), count: (items) => messagesOf(items).length },
  // Layers 1 and 2 are about the number of messages, whatever they weigh.
  steps: { 'compress-results': compressResults(window), window: slideWindow(window), summarise: summariseOldest },
  guard: cyberGuard,
  log: { unread: unreadLines, reduced: reductionLines, decided: decisionLines },
})

/** Dynamic scaling: 15 % of the window, at least 8; asked for with the value `auto`. */
const scaled = (window: number): number => Math.max(8, Math.floor(window * 0.15))

/**
 * Cyber-AutoAgent (Python, Strands): five layers. 0, artifacts for outputs above 10,000 characters; 1, old results of at least
 * 10,000 become 8,000; 2, a window of 100 messages down to 90 %; 3, the oldest 30 % as a summary; 4, further passes above 90 %.
 *
 * Layers 1 to 3 follow each other until the estimate is below the threshold; layer 4's two passes until it is below 90 % of the window, in 30 seconds.
 *
 * Choices: layer 1 really runs from 70 % of the window's messages on, before the 65 % token check (in the code that number only
 * wrote a log line); preserve-last is 5 unless `auto` asks for the scaled value; the zones together are at most half of the window.
 *
 * Deviations, with the promise that each keeps: layer 3 is reached when layers 1 and 2 are not enough (the code dropped two more
 * messages instead, and almost never summarised: 3); the first message is never lost (7); what leaves the window is archived and a
 * line says so (3); layer 4's passes take larger parts instead of repeating the same one (6); whatever is left after them is shown
 * as preview + handle (1); compressed values name their handle (3); artifacts that a session references are never cleaned up (3);
 * reasoning leaves with the step that it belongs to, not alone (10).
 *
 * Environment: CYBER_CONTEXT_LIMIT, CYBER_PROMPT_TELEMETRY_THRESHOLD (0.1 to 0.95), CYBER_PROMPT_CACHE_RELAX (0 to 0.3),
 * CYBER_PROMPT_CACHE_HINT, CYBER_TOOL_COMPRESS_TRUNCATE, CYBER_TOOL_MAX_RESULT_CHARS, CYBER_TOOL_RESULT_ARTIFACT_THRESHOLD,
 * CYBER_CONVERSATION_WINDOW (10 to 120), CYBER_CONVERSATION_PRESERVE_FIRST, CYBER_CONVERSATION_PRESERVE_LAST (a number or `auto`).
 */
export function cyberAutoagent(env: Environment = {}): Policy {
  const limits = readCyberLimits(env)
  const window = Math.min(120, Math.max(10, integerOf(env, 'CYBER_CONVERSATION_WINDOW', 100)))
  const threshold = shareOf(env, 'CYBER_PROMPT_TELEMETRY_THRESHOLD', 0.65, [0.1, 0.95])
  const relax = shareOf(env, 'CYBER_PROMPT_CACHE_RELAX', 0.1, [0, 0.3])
  const isHinted = isTrue(env, 'CYBER_PROMPT_CACHE_HINT')
  const isAuto = env['CYBER_CONVERSATION_PRESERVE_LAST']?.trim().toLowerCase() === 'auto'
  const zones: Zones = {
    preserveFirst: integerOf(env, 'CYBER_CONVERSATION_PRESERVE_FIRST', 1),
    preserveLast: isAuto ? scaled(window) : integerOf(env, 'CYBER_CONVERSATION_PRESERVE_LAST', 5),
  }
  const oldest = (scope: number, above?: number): SummariseStep => ({
    step: 'summarise',
    scope,
    above,
    tail: zones.preserveLast,
  })
  return {
    name: 'cyber-autoagent',
    design: cyberDesign(window, isHinted ? 0 : relax),
    water: {
      high: isHinted ? Math.min(CEILING, threshold + relax) : threshold,
      // There is no target beside the threshold: layers follow each other until the estimate is below it.
      low: threshold,
      warn: 0.8,
      rest: 0.05,
    },
    buffer: { fraction: 0.02, min: 0, max: Infinity },
    reserve: 'wire',
    caution: CAUTION,
    defaultWindow: integerOf(env, 'CYBER_CONTEXT_LIMIT', 200_000),
    intake: {
      maxShare: 0.25,
      previewShare: 0.1,
      guard: { chars: limits.artifactChars, shownChars: limits.maxChars, files: 'artifacts' },
    },
    retention: { keep: 100, cleanAt: 150 },
    passes: 3,
    timeMs: 30_000,
    cascade: [
      { step: 'compress-results', ...zones, fromChars: limits.compressChars, toChars: limits.truncateChars },
      { step: 'window', ...zones, size: window, target: 0.9 },
      oldest(0.3),
      oldest(0.6, 0.9),
      oldest(0.8, 0.9),
      { step: 'squeeze', floorTokens: 120, above: 0.9, to: 0.85 },
      { step: 'squeeze', floorTokens: 120 },
    ],
  }
}

import type { Handle } from '../../../core/handles.ts'
import type { Item } from '../../../core/item.ts'
import type { CompressStep, SummariseStep, WindowStep, Zones } from '../../../core/policy.ts'
import type { EpochEdit } from '../../../core/records.ts'
import { isRecord, parsedJson } from '../../../core/values.ts'
import {
  foldableIn,
  headEnd,
  NOTHING,
  sizeOf,
  standIn,
  storedText,
  tailStart,
  type Draft,
  type PlannedSoFar,
  type Proposal,
  type StoredText,
} from '../../epoch/cascade/draft.ts'
import { LANGUAGE, summarise, type Style } from '../../epoch/cascade/summarise.ts'
import { transcriptWithin } from '../../epoch/summary/transcript.ts'
import { parseStructure } from '../../intake/json/json-view.ts'
import type { Design } from '../design.ts'
import { compressCyberInput, compressCyberResult, CYBER_DEFAULTS, type CyberLimits } from './compress.ts'

/** The layers as steps, over a window of so many messages. Layers 1 and 2 are about that number, whatever the messages weigh. */
export const layersOver = (window: number): Design['steps'] => ({
  'compress-results': compressResults(window),
  window: slideWindow(window),
  summarise: summariseOldest,
})

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
      const text =
        item.kind === 'result' ? resultText(item, limits) : item.kind === 'call' ? inputText(item, limits) : undefined
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

function resultText({ text }: Item, limits: CyberLimits): string | undefined {
  const json = parseStructure(text)
  const block = json === undefined ? { text } : { json }
  const { value, cuts } = compressCyberResult({ content: [block] }, limits)
  if (cuts.length === 0 || !isRecord(value) || !Array.isArray(value['content'])) return undefined
  return value['content']
    .map((part: unknown) => (isRecord(part) && typeof part['text'] === 'string' ? part['text'] : jsonOf(part)))
    .join('\n')
}

const jsonOf = (part: unknown): string => JSON.stringify(isRecord(part) ? part['json'] : part)

function inputText({ text }: Item, limits: CyberLimits): string | undefined {
  const { value, cuts } = compressCyberInput(parsedJson(text), limits)
  return cuts.length === 0 ? undefined : JSON.stringify(value)
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

/** Layers 3 and 4: the oldest share of the messages, as long as the estimate of what earlier layers left is at the threshold, or above a share of the window. */
function summariseOldest(
  draft: Draft,
  { scope = 0.3, tail, above, maxTokens = Infinity }: SummariseStep,
  { gone, items }: PlannedSoFar,
): Proposal {
  const line = above === undefined ? draft.lowTokens : draft.windowTokens * above
  if ((draft.estimate?.(items()) ?? Infinity) < line) return NOTHING
  return summarise(draft, {
    folded: foldableIn(draft, 0, Math.min(oldestEnd(draft, scope, gone), tailStart(draft, tail, 'messages'))),
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

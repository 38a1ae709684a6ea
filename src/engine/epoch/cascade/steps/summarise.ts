import type { Handle } from '../../../../core/handles.ts'
import type { Item } from '../../../../core/item.ts'
import type { SummariseStep } from '../../../../core/policy.ts'
import type { EpochEdit } from '../../../../core/records.ts'
import { askedFor } from '../../summary/asked-for.ts'
import { factsOf } from '../../record/facts.ts'
import { NOTHING, storedText, type Draft, type Proposal, type StoredText, type SummaryAsk } from '../draft.ts'
import { mustStayWhole, summaryPlace } from './fold.ts'
import { sourceOf, STYLES, WORDS_PER_TOKEN, type StyleSource } from '../../summary/styles/index.ts'
import { excerptOf } from '../../summary/transcript.ts'
import { dropEdits, foldableIn, headEnd, placeFrom, sizeOf, tailStart } from '../zones.ts'

const SUMMARY_OPEN = '[Previous conversation summary. It tells what happened; it is not an instruction.]'
const CONTINUATION =
  'The conversation was compacted to stay within the context window. The summary above says what was done and what comes ' +
  'next. Continue working now; do not ask the user to repeat anything.'

/** A quoted request is whole up to this share of the limit, */
const QUOTE_SHARE = 0.25
/** and beyond it at most this long; the rest is behind a handle. */
const QUOTE_BYTES = 2_000
const FACTS_SHARE = 0.3
const TASK_LINE_BYTES = 120
const USER_LINE_BYTES = 400
const MIN_SUMMARY_TOKENS = 60

/** Puts one message in the place of a part of the history, and perhaps a second one that says how to go on. */
export function summarise(draft: Draft, step: SummariseStep, gone: (index: number) => boolean): Proposal {
  const folded = foldedBy(draft, step, gone)
  if (folded.length === 0) return NOTHING
  const source = sourceOf(draft, folded)
  const sourceTokens = source.items.reduce((sum, item) => sum + draft.tokensOf(item), 0)
  const cap = Math.max(MIN_SUMMARY_TOKENS, Math.min(capOf(draft, step), sourceTokens * 0.8))
  const style = STYLES[step.style]
  const facts = step.facts === false ? '' : factsBlock(draft, source, cap * FACTS_SHARE)
  const room = cap - draft.countText(SUMMARY_OPEN) - (facts === '' ? 0 : draft.countText(facts))
  const asked = askedFor(draft)
  const wrap = (body: string): string => [SUMMARY_OPEN, asked, body, facts].filter((part) => part !== '').join('\n\n')
  const text = wrap(style.fallback(source, Math.max(0, room), draft.countText))
  const next = step.continuation === undefined ? undefined : continuation(draft, source.request)
  const inserted = draft.countText(text) + (next === undefined ? 0 : draft.countText(next.text))
  if (inserted >= sourceTokens) return NOTHING
  const ask: SummaryAsk = {
    text,
    system: style.system(Math.floor(cap * WORDS_PER_TOKEN)),
    folded: source.items,
    items: style.reads?.(source.items) ?? source.items,
    prompt: (transcript) => style.prompt(source, transcript),
    ...(draft.instructions !== undefined && { instructions: draft.instructions }),
    maxOutputTokens: Math.floor(cap),
    sourceTokens,
    wrap,
    carried: [asked, facts].filter((part) => part !== ''),
  }
  return {
    edits: [...dropEdits(draft, folded, 'folded into the summary'), ...inserts(draft, step, folded, text, next?.text)],
    stored: next?.stored ?? new Map(),
    ...(step.modelFree !== true && { asks: [ask] }),
  }
}

function foldedBy(
  draft: Draft,
  { scope, tail, tailUnit = 'messages', minimum = 0 }: SummariseStep,
  gone: (index: number) => boolean,
): number[] {
  const { items } = draft
  if (sizeOf(draft, 0, items.length, tailUnit) < minimum) return []
  const tailFrom = tail === 0 ? draft.openFrom : tailStart(draft, tail, tailUnit)
  if (scope === 'middle') return foldableIn(draft, headEnd(draft, 1), tailFrom)
  if (scope === 'all') return everything(draft, tailFrom)
  return foldableIn(draft, 0, Math.min(oldestEnd(draft, scope, gone), tailFrom))
}

/** Where a share of the messages that earlier steps left ends. What they took out is told of as well. */
function oldestEnd(draft: Draft, share: number, gone: (index: number) => boolean): number {
  const left = draft.turns.steps.map(({ from, to }) => (gone(from) ? 0 : sizeOf(draft, from, to, 'messages')))
  const wanted = Math.max(1, Math.floor(share * left.reduce((sum, size) => sum + size, 0)))
  let held = 0
  const last = left.findIndex((size) => (held += size) >= wanted)
  return draft.turns.steps[last]?.to ?? 0
}

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

function capOf({ marginTokens, limitTokens }: Draft, { share, maxTokens = Infinity }: SummariseStep): number {
  return Math.min(maxTokens, Math.floor(share.value * (share.of === 'margin' ? marginTokens : limitTokens)))
}

/** What code carries through whatever a model writes: the task, the plan, refusals, files. */
function factsBlock(draft: Draft, { items, request }: StyleSource, budget: number): string {
  const task = items.find((item) => item.kind === 'user')
  const blocks = task === undefined || task.text === request ? [] : [taskBlock(draft, task.text, budget)]
  const said = items.filter((item) => item.kind === 'user' && item !== task && item.text !== request)
  let left = budget - blocks.reduce((sum, block) => sum + draft.countText(block), 0)
  const lines = said.map((item) => `- ${excerptOf(item.text.replace(/\s+/g, ' ').trim(), USER_LINE_BYTES)}`)
  const facts = [
    ...(lines.length === 0 ? [] : [{ heading: 'The user also said', text: lines.join('\n') }]),
    ...factsOf(items),
  ]
  for (const { heading, text } of facts) {
    const block = newestOf(heading, text, left, draft.countText)
    if (block === undefined) continue
    left -= draft.countText(block)
    blocks.push(block)
  }
  return blocks.join('\n\n')
}

/** A list gives up its oldest lines rather than its place; a line alone is all or nothing. */
function newestOf(heading: string, text: string, budget: number, count: (text: string) => number): string | undefined {
  const lines = text.split('\n')
  const blockOf = (from: number): string => {
    const more = from === 0 ? [] : [`(${from} older ones left out)`]
    return [`${heading}:`, ...more, ...lines.slice(from)].join('\n')
  }
  if (count(blockOf(0)) <= budget) return blockOf(0)
  let low = 1
  let high = lines.length
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (count(blockOf(middle)) <= budget) high = middle
    else low = middle + 1
  }
  return low < lines.length && count(blockOf(low)) <= budget ? blockOf(low) : undefined
}

/** The task is never left out: its quote gives way to the budget, down to a line of it. */
function taskBlock({ countText }: Draft, task: string, budget: number): string {
  let bytes = QUOTE_BYTES
  for (;;) {
    const block = `Task:\n${excerptOf(task, bytes)}`
    if (bytes <= TASK_LINE_BYTES || countText(block) <= budget) return block
    bytes = Math.max(TASK_LINE_BYTES, Math.floor(bytes / 2))
  }
}

interface Continuation {
  readonly text: string
  readonly stored: ReadonlyMap<Handle, StoredText>
}

function continuation(draft: Draft, request: string): Continuation {
  if (request === '') return { text: CONTINUATION, stored: new Map() }
  const quote = draft.countText(request) <= QUOTE_SHARE * draft.limitTokens ? request : excerptOf(request, QUOTE_BYTES)
  const isCut = quote !== request
  const handle = draft.handleOf(request)
  const whole: Item = { id: '', kind: 'user', role: 'user', text: request, message: -1 }
  return {
    text:
      `The conversation was compacted. The user's current request is: \`${quote}\`` +
      `${isCut ? ` (all of it is stored as ${handle})` : ''}. Continue working; do not ask the user to repeat anything.`,
    stored: isCut ? new Map([[handle, storedText(whole)]]) : new Map(),
  }
}

function inserts(
  draft: Draft,
  { scope }: SummariseStep,
  folded: readonly number[],
  text: string,
  next: string | undefined,
): EpochEdit[] {
  const openPlace = placeFrom(draft, draft.openFrom)
  const at = scope === 'all' ? placeFrom(draft, folded[0]!) : summaryPlace(draft, folded[0]!, folded.at(-1)! + 1)
  const summary: EpochEdit = { op: 'insert', at, role: 'user', text, reason: `stands for ${folded.length} items` }
  if (next === undefined) return [summary]
  const closing: EpochEdit = { op: 'insert', at: openPlace, role: 'user', text: next, reason: 'says how to go on' }
  return [summary, closing]
}

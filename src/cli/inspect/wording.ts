import type { BigItem, Inspection } from '../../lab/inspect/inspect.ts'
import type { Saving } from '../../lab/inspect/savings.ts'
import type { Slice } from '../../lab/inspect/by-kind.ts'
import { dollars, grouped, percent, plural } from './figures.ts'
import { plainText } from './width.ts'

/** The sentences of a report; terminal and HTML say the same. */

const KINDS: Readonly<Record<string, string>> = {
  system: 'system prompt',
  tools: 'tool declarations',
  unrecorded: 'not in the file (system, tools …)',
  user: 'user',
  assistant: 'assistant',
  reasoning: 'reasoning',
  calls: 'tool calls',
  media: 'media',
  other: 'other',
}

export const sliceName = (slice: { readonly kind: string; readonly tool?: string }): string =>
  slice.kind === 'results' ? `results: ${plainText(slice.tool ?? 'unknown tool')}` : (KINDS[slice.kind] ?? slice.kind)

/** What it is, and what it is about; the second may be long. */
export function itemName(item: BigItem): { readonly what: string; readonly target: string } {
  const what = item.tool ?? KINDS[item.kind] ?? item.kind
  return { what: plainText(item.kind === 'call' ? `call of ${what}` : what), target: plainText(item.target ?? '') }
}

const STEPS: Readonly<Record<Saving['step'], string>> = {
  'shorten-large-results': 'show large results as a preview with a handle',
}

export const savingName = (saving: Saving): string => STEPS[saving.step]

export function titleOf(inspection: Inspection): string {
  const parts = [inspection.file, ...(inspection.name === undefined ? [] : [inspection.name])]
  return plainText(parts.join(' · '))
}

export function summaryOf(inspection: Inspection): string {
  const { format, model, calls, messages, growth } = inspection
  const compactions = growth.compactedBefore.length
  return plainText(
    [
      format,
      ...(model === undefined ? [] : [model]),
      plural(calls, 'call'),
      plural(messages, 'message'),
      ...(compactions > 0 ? [plural(compactions, 'compaction')] : []),
    ].join(' · '),
  )
}

export function peakOf(inspection: Inspection): string {
  const { growth, window, calls } = inspection
  if (calls === 0) return 'No model call is recorded here.'
  const of = window === undefined ? '' : ` of ${grouped(window)} (${percent(growth.peak, window)})`
  return `Peak load ${grouped(growth.peak)} tokens${of} at call ${grouped(growth.peakCall + 1)}.`
}

function costOf({ costUsd, outputPartial }: Inspection): string {
  if (costUsd === undefined) return ''
  return ` At list prices that is ${dollars(costUsd)}${outputPartial ? ' without the output, which the file does not count' : ''}.`
}

/** Below this share of what was sent, a tool is named together with the others. */
const SMALL = 0.01

/** What is worth a line of its own: results of tools that took little are one line. */
export function shownSlices({ slices, sentTokens }: Pick<Inspection, 'slices' | 'sentTokens'>): readonly Slice[] {
  const isSmall = ({ kind, sentTokens: sent }: Slice): boolean => kind === 'results' && sent < SMALL * sentTokens
  const small = slices.filter(isSmall)
  if (small.length < 2) return slices
  const sum = (pick: (slice: Slice) => number): number => small.reduce((total, slice) => total + pick(slice), 0)
  const rest: Slice = {
    kind: 'results',
    tool: `${small.length} tools below 1 %`,
    items: sum(({ items }) => items),
    tokens: sum(({ tokens }) => tokens),
    sentTokens: sum(({ sentTokens: sent }) => sent),
  }
  return [...slices.filter((slice) => !isSmall(slice)), rest].toSorted((a, b) => b.sentTokens - a.sentTokens)
}

export function usageOf(inspection: Inspection): string | undefined {
  const { usage, outputPartial, withoutUsage, calls } = inspection
  if (usage === undefined) return undefined
  const cached = `${percent(usage.cacheRead, usage.input)} of it from the cache`
  const output = outputPartial ? '' : `, ${grouped(usage.output)} output`
  const missing = withoutUsage > 0 ? `; ${plural(withoutUsage, 'call')} of ${grouped(calls)} without usage` : ''
  return `The provider counted ${grouped(usage.input)} input tokens, ${cached}${output}${missing}.${costOf(inspection)}`
}

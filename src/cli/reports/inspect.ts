import type { PriceModel } from '../../core/price.ts'
import type { Report, ReportPart, ReportSection } from '../../dashboard/page-types.ts'
import { type BigItem, inspect, type Inspection, overviewOf } from '../../lab/inspect/inspect.ts'
import type { InspectOptions, InspectSource, Slice } from '../../lab/inspect/measures.ts'
import { dollars, grouped, percent, plainText, plural, short } from '../kit/figures.ts'
import { composition, linesPart, loadChart, shown, table } from './parts.ts'

export interface InspectAllOptions extends Omit<InspectOptions, 'window' | 'countText' | 'price'> {
  readonly countText: (text: string, model: string | undefined) => number
  /** One window for all recordings, or by model. */
  readonly window?: number | ((model: string | undefined) => number | undefined)
  readonly price?: (model: string | undefined) => PriceModel | undefined
}

/** Inspects recordings, each with its own model's counts and prices. */
export const inspectAll = (
  recordings: readonly InspectSource[],
  { window, price, countText, ...rest }: InspectAllOptions,
): readonly Inspection[] =>
  recordings.map((recording) => {
    const { model } = recording
    return inspect(recording, {
      ...rest,
      countText: (text) => countText(text, model),
      window: typeof window === 'function' ? window(model) : window,
      price: price?.(model),
    })
  })

/** The report of where the tokens went. Without details: only the overview of all sessions. */
export function inspectReport(inspections: readonly Inspection[], details = true): Report {
  const title = inspections.length === 1 ? titleOf(inspections[0]!) : plural(inspections.length, 'session')
  return {
    title: `Plimsoll inspect: ${title}`,
    heading: 'Where the tokens went',
    sections: [
      ...(inspections.length > 1 || !details ? [overviewSection(inspections)] : []),
      ...(details ? inspections.map(inspectSection) : []),
    ],
  }
}

function overviewSection(inspections: readonly Inspection[]): ReportSection {
  const overview = overviewOf(inspections)
  const cost = overview.costUsd === undefined ? '' : ` · ${dollars(overview.costUsd)} at list prices`
  return {
    title: 'All sessions',
    about: `${plural(overview.sessions, 'session')} · ${plural(overview.calls, 'call')} · ${grouped(overview.sentTokens)} tokens sent${cost}`,
    parts: shown([
      slices(overview),
      table(
        'By session',
        ['sent tokens', 'calls', 'peak', 'cost', 'session'],
        inspections
          .toSorted((a, b) => b.sentTokens - a.sentTokens)
          .map((each) => [
            each.sentTokens,
            each.calls,
            each.growth.peak,
            each.costUsd === undefined ? '' : dollars(each.costUsd),
            titleOf(each),
          ]),
      ),
    ]),
  }
}

function inspectSection(inspection: Inspection): ReportSection {
  const { calls, growth, window, sentTokens, usage, costUsd } = inspection
  return {
    title: titleOf(inspection),
    about: summaryOf(inspection),
    figures: [
      ['calls', grouped(calls)],
      ['largest prompt', window === undefined ? grouped(growth.peak) : `${grouped(growth.peak)} of ${grouped(window)}`],
      ['compactions', grouped(growth.compactedBefore.length)],
      ['tokens sent', short(sentTokens)],
      ...(usage === undefined ? [] : [['from the cache', percent(usage.cacheRead, usage.input)] as const]),
      ...(costUsd === undefined ? [] : [['cost at list prices', dollars(costUsd)] as const]),
    ],
    said: [peakOf(inspection), usageOf(inspection) ?? ''].join(' ').trim(),
    parts: shown([
      loadChart({
        title: 'Load per call',
        sent: growth.points.map(({ load, reported = load }) => reported),
        line: window === undefined ? undefined : { name: 'window', value: window },
        marks: growth.compactedBefore,
        label: `Load per call: peak ${grouped(growth.peak)} tokens at call ${growth.peakCall + 1}`,
      }),
      composition(
        Array.from({ length: calls }, (_, call) => ({
          parts: Object.fromEntries(inspection.composition.map((layer) => [layerName(layer), layer.tokens[call] ?? 0])),
        })),
      ),
      slices(inspection),
      table(
        'Largest items',
        ['tokens', 'times sent', 'sent tokens', 'line', 'item'],
        inspection.biggest.map((item) => {
          const { what, target } = itemName(item)
          return [item.tokens, item.timesSent, item.sentTokens, item.line, `${what} ${target}`.trim()]
        }),
      ),
      table(
        'Read again',
        ['reads', 'repeated tokens', 'sent tokens', 'file'],
        inspection.readAgain.map(({ path, reads, tokens, sentTokens: sent }) => [reads, tokens, sent, plainText(path)]),
      ),
      linesPart(
        'Problems',
        inspection.problems.map(({ line, message }) => ({ text: plainText(`line ${line}: ${message}`), state: 'bad' })),
      ),
    ]),
  }
}

/** Results of smaller tools share one name. */
const layerName = (layer: Inspection['composition'][number]): string =>
  layer.kind === 'results' && layer.tool === undefined ? 'results: other tools' : sliceName(layer)

function slices(inspection: Pick<Inspection, 'slices' | 'sentTokens'>): ReportPart {
  const { sentTokens } = inspection
  return {
    kind: 'bars',
    title: 'Where the tokens went',
    rows: shownSlices(inspection)
      .filter((slice) => slice.sentTokens > 0)
      .map((slice) => ({
        name: sliceName(slice),
        value: slice.sentTokens,
        label: `${short(slice.sentTokens)} sent · ${percent(slice.sentTokens, sentTokens)} · ${short(slice.tokens)} once in ${grouped(slice.items)}`,
      })),
  }
}

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

const sliceName = (slice: { readonly kind: string; readonly tool?: string }): string =>
  slice.kind === 'results' ? `results: ${plainText(slice.tool ?? 'unknown tool')}` : (KINDS[slice.kind] ?? slice.kind)

/** What the item is, and its target, which may be long. */
function itemName(item: BigItem): { readonly what: string; readonly target: string } {
  const what = item.tool ?? KINDS[item.kind] ?? item.kind
  return { what: plainText(item.kind === 'call' ? `call of ${what}` : what), target: plainText(item.target ?? '') }
}

function titleOf(inspection: Inspection): string {
  const parts = [inspection.file, ...(inspection.name === undefined ? [] : [inspection.name])]
  return plainText(parts.join(' · '))
}

function summaryOf(inspection: Inspection): string {
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

function peakOf(inspection: Inspection): string {
  const { growth, window, calls } = inspection
  if (calls === 0) return 'No model call is recorded here.'
  const of = window === undefined ? '' : ` of ${grouped(window)} (${percent(growth.peak, window)})`
  return `Peak load ${grouped(growth.peak)} tokens${of} at call ${grouped(growth.peakCall + 1)}.`
}

function costOf({ costUsd, outputPartial }: Inspection): string {
  if (costUsd === undefined) return ''
  return ` At list prices that is ${dollars(costUsd)}${outputPartial ? ' without the output, which the file does not count' : ''}.`
}

/** Tools with a smaller share of what was sent are grouped together. */
const SMALL = 0.01

/** The rows to show: results of tools with few tokens share one row. */
function shownSlices({ slices, sentTokens }: Pick<Inspection, 'slices' | 'sentTokens'>): readonly Slice[] {
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

function usageOf(inspection: Inspection): string | undefined {
  const { usage, outputPartial, withoutUsage, calls } = inspection
  if (usage === undefined) return undefined
  const cached = `${percent(usage.cacheRead, usage.input)} of it from the cache`
  const output = outputPartial ? '' : `, ${grouped(usage.output)} output`
  const missing = withoutUsage > 0 ? `; ${plural(withoutUsage, 'call')} of ${grouped(calls)} without usage` : ''
  return `The provider counted ${grouped(usage.input)} input tokens, ${cached}${output}${missing}.${costOf(inspection)}`
}

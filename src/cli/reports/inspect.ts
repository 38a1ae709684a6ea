import type { PriceModel } from '../../core/price.ts'
import { type BigItem, inspect, type Inspection, overviewOf } from '../../lab/inspect/inspect.ts'
import type { InspectOptions, InspectSource, Slice } from '../../lab/inspect/measures.ts'
import {
  bar,
  columnChart,
  displayWidth,
  dollars,
  fitEnd,
  fitWidth,
  grouped,
  padEnd,
  padStart,
  percent,
  plainText,
  plural,
  short,
  wrap,
} from '../kit/figures.ts'
import { type Painter, painterOf } from '../kit/output.ts'

export interface InspectAllOptions extends Omit<InspectOptions, 'window' | 'countText' | 'price'> {
  /** Counts as the recording's model does. */
  readonly countText: (text: string, model: string | undefined) => number
  /** One window for all, or by model. */
  readonly window?: number | ((model: string | undefined) => number | undefined)
  /** List prices by model. */
  readonly price?: (model: string | undefined) => PriceModel | undefined
}

/** Inspects recordings, each as its model counts and costs. */
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

export interface TerminalOptions {
  /** Columns. @default 80 */
  readonly width?: number
  /** Off in pipes and with NO_COLOR; the caller knows. @default false */
  readonly colour?: boolean
  /** The full report of each session, also when there are many. @default up to three sessions */
  readonly details?: boolean
}

// Below this a table's second column of figures has no room beside a name.
const NARROW = 60
const MAX_WIDTH = 120
const PROBLEMS_SHOWN = 5
const MAX_DETAILED = 3

/** The report for a terminal. No line is wider than the terminal. */
export function renderInspections(inspections: readonly Inspection[], options: TerminalOptions = {}): string {
  const width = Math.max(20, Math.min(options.width ?? 80, MAX_WIDTH))
  const paint = painterOf({ colour: options.colour === true })
  const details = options.details ?? inspections.length <= MAX_DETAILED
  const blocks = [
    ...(inspections.length > 1 || !details ? [renderOverview(inspections, width, paint)] : []),
    ...(details ? inspections.map((inspection) => renderOne(inspection, width, paint)) : []),
  ]
  return `${blocks.map((lines) => lines.join('\n')).join('\n\n')}\n`
}

function renderOverview(inspections: readonly Inspection[], width: number, paint: Painter): readonly string[] {
  const overview = overviewOf(inspections)
  const summary = `${plural(overview.sessions, 'session')} · ${plural(overview.calls, 'call')} · ${grouped(overview.sentTokens)} tokens sent${overview.costUsd === undefined ? '' : ` · ${dollars(overview.costUsd)} at list prices`}`
  const rows = inspections
    .toSorted((a, b) => b.sentTokens - a.sentTokens)
    .map((inspection) => {
      const peak = width < NARROW ? '' : padStart(`peak ${short(inspection.growth.peak)}`, 12)
      const figures = `${padStart(short(inspection.sentTokens), 8)}${padStart(plural(inspection.calls, 'call'), 12)}${peak}`
      return `${fitWidth(figures, width - 8)}  ${fitEnd(titleOf(inspection), Math.max(6, width - figures.length - 2))}`
    })
  return [
    paint('bold', fitWidth('All sessions', width)),
    ...wrap(summary, width).map((line) => paint('dim', line)),
    ...section('Where the tokens went', slices(overview, width, paint), width, paint),
    ...section(
      'By session',
      rows.map((row) => fitWidth(row, width)),
      width,
      paint,
    ),
  ]
}

function renderOne(inspection: Inspection, width: number, paint: Painter): readonly string[] {
  const usage = usageOf(inspection)
  return [
    paint('bold', fitEnd(titleOf(inspection), width)),
    ...wrap(summaryOf(inspection), width).map((line) => paint('dim', line)),
    ...wrap(peakOf(inspection), width),
    ...(usage === undefined ? [] : wrap(usage, width)),
    ...section('Where the tokens went', slices(inspection, width, paint), width, paint),
    ...section('Load per call', growth(inspection, width, paint), width, paint),
    ...section('Largest items', biggest(inspection, width), width, paint),
    ...section('Read again', readAgain(inspection, width), width, paint),
    ...section('Problems', problems(inspection, width, paint), width, paint),
  ]
}

function section(title: string, lines: readonly string[], width: number, paint: Painter): readonly string[] {
  return lines.length === 0 ? [] : ['', paint('bold', fitWidth(title, width)), ...lines]
}

function slices(
  { slices: all, sentTokens }: Pick<Inspection, 'slices' | 'sentTokens'>,
  width: number,
  paint: Painter,
): readonly string[] {
  const narrow = width < NARROW
  const figures = narrow ? 14 : 26
  const name = Math.min(36, width - figures - (narrow ? 0 : 10))
  const room = width - name - figures - 2
  const shown = shownSlices({ slices: all, sentTokens })
  const largest = shown[0]?.sentTokens ?? 0
  const heading = narrow ? '' : `${padStart('once', name + 10)}${padStart('sent', 8)}${padStart('share', 8)}`
  const rows = shown.map((slice) => {
    const label = padEnd(fitWidth(sliceName(slice), name), name)
    const share = padStart(percent(slice.sentTokens, sentTokens), narrow ? 6 : 8)
    const sent = padStart(short(slice.sentTokens), 8)
    if (narrow) return `${label}${sent}${share}`
    const drawn = room > 3 ? `  ${paint('cyan', bar(largest === 0 ? 0 : slice.sentTokens / largest, room))}` : ''
    return `${label}${padStart(short(slice.tokens), 10)}${sent}${share}${drawn}`.trimEnd()
  })
  return heading === '' ? rows : [paint('dim', heading), ...rows]
}

function growth(
  { growth: { points, compactedBefore }, window }: Inspection,
  width: number,
  paint: Painter,
): readonly string[] {
  if (points.length < 2) return []
  const values = points.map(({ load, reported = load }) => reported)
  const chart = columnChart(values, {
    width,
    height: width < NARROW ? 6 : 10,
    marks: compactedBefore,
    line: window,
  })
  const peak = Math.max(...values)
  const caption = [
    `${plural(points.length, 'call')}, left to right`,
    ...(window === undefined
      ? []
      : window > peak * 4
        ? [`window ${short(window)} far above`]
        : [`┄ window ${short(window)}`]),
    ...(compactedBefore.length > 0 ? ['▲ compaction'] : []),
  ].join(' · ')
  const overWindow = window !== undefined && peak > window
  const drawn = chart.map((line) => (line.includes('┼') ? paint(overWindow ? 'red' : 'cyan', line) : line))
  return [...drawn, ...wrap(caption, width).map((line) => paint('dim', line))]
}

function biggest({ biggest: items }: Inspection, width: number): readonly string[] {
  const places = items.map(({ line }) => `line ${line}`)
  const placeWidth = Math.max(0, ...places.map((place) => place.length))
  return items.map((item, index) => {
    const times = `${padStart(short(item.tokens), 8)} × ${padStart(String(item.timesSent), 4)} = ${padStart(short(item.sentTokens), 6)}`
    const figures = width < NARROW ? padStart(short(item.tokens), 7) : times
    const room = width - figures.length - placeWidth - 3
    const { what, target } = itemName(item)
    const name = fitWidth(`${what} ${fitEnd(target, Math.max(10, room - displayWidth(what) - 1))}`, room)
    return `${figures}  ${padEnd(name, room)} ${padStart(places[index] ?? '', placeWidth)}`
  })
}

function readAgain({ readAgain: files }: Inspection, width: number): readonly string[] {
  return files.map(({ path, reads, tokens, sentTokens }) => {
    const figures = `${padStart(`${reads} ×`, 6)}${padStart(short(tokens), 8)}${width < NARROW ? '' : padStart(short(sentTokens), 8)}`
    return `${figures}  ${fitEnd(plainText(path), width - figures.length - 2)}`
  })
}

function problems({ problems: all }: Inspection, width: number, paint: Painter): readonly string[] {
  const shown = all
    .slice(0, PROBLEMS_SHOWN)
    .map(({ line, message }) => fitWidth(plainText(`line ${line}: ${message}`), width))
  const rest = all.length - shown.length
  return [...shown, ...(rest > 0 ? [`… and ${grouped(rest)} more`] : [])].map((line) => paint('red', line))
}

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

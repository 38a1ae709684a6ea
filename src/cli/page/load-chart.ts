import type { Thresholds } from '../../core/target.ts'
import { grouped } from '../inspect/figures.ts'
import { escapeHtml } from './html-text.ts'
import { extent, HEIGHT, plot, thinned, WIDTH } from './plot.ts'

export interface LoadChart {
  /** Tokens of each call's prompt, as sent. */
  readonly sent: readonly number[]
  /** What the prompts would have been without any compaction. */
  readonly whole?: readonly number[]
  /** Drawn as a line where it is not far above everything. */
  readonly line?: { readonly name: string; readonly value: number }
  /** Where compaction starts and what it aims at, by call; calls without are passed over. */
  readonly thresholds?: readonly (Thresholds | undefined)[]
  /** Calls, from 0, that a compaction came before. */
  readonly marks: readonly number[]
  /** The chart in a sentence. */
  readonly label: string
}

/** Tokens per call against the line, compactions as marks: the dashboard's chart without a script. */
export function loadChart({ sent, whole, line, thresholds = [], marks, label }: LoadChart): string {
  if (sent.length < 2) return ''
  const peak = Math.max(1, ...extent(sent), ...extent(whole ?? []))
  const known = filled(thresholds)
  const [high, low] = [known.map((each) => each.high), known.map((each) => each.low)]
  const shownLine = line !== undefined && line.value <= peak * 4 ? line : undefined
  // Thresholds stand below the limit: without it in view they would stand alone above everything.
  const showsThresholds = high.length > 0 && shownLine !== undefined
  const top = Math.max(peak, shownLine?.value ?? 0, ...extent(shownLine === undefined ? [] : high)) * 1.04
  const x = (index: number): string => ((index / (sent.length - 1)) * WIDTH).toFixed(1)
  const y = (value: number): string => ((1 - value / top) * HEIGHT).toFixed(2)
  const points = (values: readonly number[]): string =>
    thinned(values, WIDTH)
      .map(([index, value]) => `${x(index)},${y(value)}`)
      .join(' L')
  const across = (value: number, kind: string): string =>
    `<line class="${kind}" x1="0" x2="${WIDTH}" y1="${y(value)}" y2="${y(value)}"/>`
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => (top / 1.04) * share)
  const shapes = [
    ...ticks.map((value) => across(value, 'grid')),
    `<path class="area" d="M0,${HEIGHT} L${points(sent)} L${WIDTH},${HEIGHT} Z"/>`,
    ...(whole === undefined ? [] : [`<path class="whole" d="M${points(whole)}"/>`]),
    ...marks.map((call) => {
      const at = x(Math.min(call, sent.length - 1))
      return `<line class="mark" x1="${at}" x2="${at}" y1="0" y2="${HEIGHT}"><title>compaction before call ${call + 1}</title></line>`
    }),
    ...(shownLine === undefined ? [] : [across(shownLine.value, 'window')]),
    ...(!showsThresholds
      ? []
      : [`<path class="high" d="M${points(high)}"/>`, `<path class="low" d="M${points(low)}"/>`]),
  ]
  const legend = [
    ['area', 'sent'],
    ...(whole === undefined ? [] : [['whole', 'without compaction']]),
    ...(shownLine === undefined ? [] : [['window', `${shownLine.name} ${grouped(shownLine.value)}`]]),
    ...(!showsThresholds
      ? []
      : [
          ['high', `compaction starts ${grouped(high.at(-1)!)}`],
          ['low', `aims at ${grouped(low.at(-1)!)}`],
        ]),
    ...(marks.length === 0 ? [] : [['mark', 'compaction']]),
  ].map(([kind, name]) => `<span><i class="${kind}"></i>${escapeHtml(name!)}</span>`)
  return plot({ legend, ticks, top, shapes, label, calls: sent.length })
}

/** A refused call has none: the ones before it hold on, and those that come first hold before. */
function filled(thresholds: readonly (Thresholds | undefined)[]): readonly Thresholds[] {
  let last = thresholds.find((each) => each !== undefined)
  return last === undefined ? [] : thresholds.map((each) => (last = each ?? last!))
}

import { grouped, short } from '../inspect/figures.ts'
import { escapeHtml } from './html-text.ts'

export interface LoadChart {
  /** Tokens of each call's prompt, as sent. */
  readonly sent: readonly number[]
  /** What the prompts would have been without any compaction. */
  readonly whole?: readonly number[]
  /** Drawn as a line where it is not far above everything. */
  readonly line?: { readonly name: string; readonly value: number }
  /** Calls, from 0, that a compaction came before. */
  readonly marks: readonly number[]
  /** The chart in a sentence. */
  readonly label: string
}

/** Drawn in a field of this size and stretched to the screen's; strokes and letters keep their own. */
const WIDTH = 1000
const HEIGHT = 100

/** Tokens per call against the line, compactions as marks: the dashboard's chart without a script. */
export function loadChart({ sent, whole, line, marks, label }: LoadChart): string {
  if (sent.length < 2) return ''
  const peak = Math.max(1, ...extent(sent), ...extent(whole ?? []))
  const shownLine = line !== undefined && line.value <= peak * 4 ? line : undefined
  const top = Math.max(peak, shownLine?.value ?? 0) * 1.04
  const x = (index: number): string => ((index / (sent.length - 1)) * WIDTH).toFixed(1)
  const y = (value: number): string => ((1 - value / top) * HEIGHT).toFixed(2)
  const points = (values: readonly number[]): string =>
    thinned(values)
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
  ]
  const legend = [
    ['area', 'sent'],
    ...(whole === undefined ? [] : [['whole', 'without compaction']]),
    ...(shownLine === undefined ? [] : [['window', `${shownLine.name} ${grouped(shownLine.value)}`]]),
    ...(marks.length === 0 ? [] : [['mark', 'compaction']]),
  ].map(([kind, name]) => `<span><i class="${kind}"></i>${escapeHtml(name!)}</span>`)
  const labels = ticks.map(
    (value) => `<span class="tick" style="bottom:${((100 * value) / top).toFixed(1)}%">${short(value)}</span>`,
  )
  return `<figure><div class="legend">${legend.join('')}</div><div class="plot">${labels.join('')}<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${escapeHtml(label)}">${shapes.join('')}</svg></div><div class="axis"><span>call 1</span><span>call ${grouped(sent.length)}</span></div></figure>`
}

/** Of many values only the largest counts; spread into a call they would be too many. */
const extent = (values: readonly number[]): readonly number[] => [values.reduce((most, one) => Math.max(most, one), 0)]

/** At most two points per pixel: the lowest and highest of its calls. */
function thinned(values: readonly number[]): readonly (readonly [index: number, value: number])[] {
  const most = WIDTH * 2
  if (values.length <= most) return values.map((value, index) => [index, value] as const)
  const size = Math.ceil((values.length * 2) / most)
  const kept: (readonly [number, number])[] = []
  for (let from = 0; from < values.length; from += size) {
    let low = from
    let high = from
    for (let i = from; i < Math.min(values.length, from + size); i++) {
      if (values[i]! < values[low]!) low = i
      if (values[i]! > values[high]!) high = i
    }
    for (const index of [Math.min(low, high), Math.max(low, high)]) kept.push([index, values[index]!])
  }
  return kept
}

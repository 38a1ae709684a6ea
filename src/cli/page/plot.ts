import { grouped, short } from '../inspect/figures.ts'
import { escapeHtml } from './html-text.ts'

/** Drawn in a field of this size and stretched to the screen's; strokes and letters keep their own. */
export const WIDTH = 1000
export const HEIGHT = 100

export interface Plot {
  readonly legend: readonly string[]
  readonly ticks: readonly number[]
  /** The value at the upper edge. */
  readonly top: number
  readonly shapes: readonly string[]
  /** The chart in a sentence. */
  readonly label: string
  readonly calls: number
}

/** Something over the calls of a session: a legend, the field, its axes. No script. */
export function plot({ legend, ticks, top, shapes, label, calls }: Plot): string {
  const labels = ticks.map(
    (value) => `<span class="tick" style="bottom:${((100 * value) / top).toFixed(1)}%">${short(value)}</span>`,
  )
  return `<figure><div class="legend">${legend.join('')}</div><div class="plot">${labels.join('')}<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${escapeHtml(label)}">${shapes.join('')}</svg></div><div class="axis"><span>call 1</span><span>call ${grouped(calls)}</span></div></figure>`
}

/** Of many values only the largest counts; spread into a call they would be too many. */
export const extent = (values: readonly number[]): readonly number[] => [
  values.reduce((most, one) => Math.max(most, one), 0),
]

/** At most two points per pixel: the lowest and highest of its calls. */
export function thinned(
  values: readonly number[],
  pixels: number,
): readonly (readonly [index: number, value: number])[] {
  const most = pixels * 2
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

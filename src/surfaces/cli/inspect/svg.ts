import type { Inspection } from '../../../engine/inspect/inspect.ts'
import { grouped, percent, short } from './figures.ts'
import { escapeHtml } from './html-text.ts'
import { shownSlices, sliceName } from './wording.ts'

const WIDTH = 960
const HEIGHT = 280
const LEFT = 56
const BOTTOM = 28
const TOP = 12

/** Load per call as an area, the window as a line, compactions as marks. Inline SVG, no script. */
export function growthSvg({ growth, window }: Inspection): string {
  const values = growth.points.map(({ load, reported = load }) => reported)
  if (values.length < 2) return ''
  const peak = Math.max(1, growth.peak)
  const drawWindow = window !== undefined && window <= peak * 4
  const top = (drawWindow ? Math.max(peak, window) : peak) * 1.04
  const x = (index: number) => LEFT + (index / (values.length - 1)) * (WIDTH - LEFT - 8)
  const y = (value: number) => TOP + (1 - value / top) * (HEIGHT - TOP - BOTTOM)
  const points = thinned(values).map(([index, value]) => `${x(index).toFixed(1)},${y(value).toFixed(1)}`)
  const area = `M${LEFT},${y(0)} L${points.join(' L')} L${x(values.length - 1).toFixed(1)},${y(0)} Z`
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const value = (top / 1.04) * share
    const at = y(value).toFixed(1)
    return `<line class="grid" x1="${LEFT}" x2="${WIDTH - 8}" y1="${at}" y2="${at}"/><text x="${LEFT - 6}" y="${at}" class="tick">${short(value)}</text>`
  })
  const marks = growth.compactedBefore.map((call) => {
    const at = x(Math.min(call, values.length - 1)).toFixed(1)
    return `<line class="mark" x1="${at}" x2="${at}" y1="${TOP}" y2="${y(0)}"><title>compaction before call ${call + 1}</title></line>`
  })
  const line = drawWindow
    ? `<line class="window" x1="${LEFT}" x2="${WIDTH - 8}" y1="${y(window).toFixed(1)}" y2="${y(window).toFixed(1)}"/><text class="window-label" x="${WIDTH - 10}" y="${(y(window) - 4).toFixed(1)}">window ${grouped(window)}</text>`
    : ''
  return `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="Load per call: peak ${grouped(growth.peak)} tokens at call ${growth.peakCall + 1}">${ticks.join('')}<path class="area" d="${area}"/>${marks.join('')}${line}<text class="axis" x="${LEFT}" y="${HEIGHT - 8}">call 1</text><text class="axis end" x="${WIDTH - 8}" y="${HEIGHT - 8}">call ${grouped(values.length)}</text></svg>`
}

/** At most two points per pixel: the lowest and highest of its calls. */
function thinned(values: readonly number[]): readonly (readonly [index: number, value: number])[] {
  const most = (WIDTH - LEFT) * 2
  if (values.length <= most) return values.map((value, index) => [index, value] as const)
  const size = Math.ceil((values.length * 2) / most)
  const kept: (readonly [number, number])[] = []
  for (let from = 0; from < values.length; from += size) {
    let low = from
    let high = from
    for (let i = from; i < Math.min(values.length, from + size); i++) {
      if ((values[i] ?? 0) < (values[low] ?? 0)) low = i
      if ((values[i] ?? 0) > (values[high] ?? 0)) high = i
    }
    for (const index of [Math.min(low, high), Math.max(low, high)]) kept.push([index, values[index] ?? 0])
  }
  return kept
}

/** Where the tokens went, as bars. */
export function slicesSvg(inspection: Pick<Inspection, 'slices' | 'sentTokens'>): string {
  const { sentTokens } = inspection
  const shown = shownSlices(inspection).filter((slice) => slice.sentTokens > 0)
  const largest = shown[0]?.sentTokens ?? 1
  const row = 24
  const rows = shown.map((slice, index) => {
    const at = index * row
    const length = Math.max(1, (slice.sentTokens / largest) * 480)
    const label = `${short(slice.sentTokens)} sent · ${percent(slice.sentTokens, sentTokens)} · ${short(slice.tokens)} once in ${grouped(slice.items)}`
    return `<text class="name" x="270" y="${at + 16}">${escapeHtml(sliceName(slice))}</text><rect class="bar" x="280" y="${at + 4}" width="${length.toFixed(1)}" height="${row - 8}"/><text class="value" x="${(288 + length).toFixed(1)}" y="${at + 16}">${escapeHtml(label)}</text>`
  })
  return `<svg viewBox="0 0 1040 ${shown.length * row}" role="img" aria-label="Tokens sent by kind">${rows.join('')}</svg>`
}

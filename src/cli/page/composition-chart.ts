import { stackedParts } from '../../dashboard/stacked-parts.ts'
import { short } from '../inspect/figures.ts'
import { escapeHtml } from './html-text.ts'
import { extent, HEIGHT, plot, thinned, WIDTH } from './plot.ts'

/** As many as the page has colours for. */
const MOST_PARTS = 8

/** What the prompts are made of, stacked over the calls; the largest part lies at the bottom. */
export function compositionChart(calls: readonly { readonly parts: Readonly<Record<string, number>> }[]): string {
  const parts = calls.length < 2 ? [] : stackedParts(calls, MOST_PARTS)
  const most = parts.at(-1)
  if (most === undefined) return ''
  const top = Math.max(1, ...extent(most.tops)) * 1.04
  const ticks = [0, 0.5, 1].map((share) => (top / 1.04) * share)
  const x = (index: number): string => ((index / (calls.length - 1)) * WIDTH).toFixed(1)
  const y = (value: number): string => ((1 - value / top) * HEIGHT).toFixed(2)
  // What is drawn later covers what is below it.
  const shapes = parts.toReversed().map(({ name, tops }, place) => {
    const edge = thinned(tops, WIDTH).map(([index, value]) => `${x(index)},${y(value)}`)
    const kind = `part${parts.length - place}`
    return `<path class="${kind}" d="M0,${HEIGHT} L${edge.join(' L')} L${WIDTH},${HEIGHT} Z"><title>${escapeHtml(name)}</title></path>`
  })
  const legend = parts.map(
    ({ name, last }, index) =>
      `<span><i class="box part${index + 1}"></i>${escapeHtml(name)} <b>${short(last)}</b></span>`,
  )
  const label = `Parts of the prompts, with their tokens in the last call: ${parts.map(({ name, last }) => `${name} ${short(last)}`).join(', ')}`
  return plot({ legend, ticks, top, shapes, label, calls: calls.length })
}

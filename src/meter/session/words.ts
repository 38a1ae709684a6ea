import { dollars, grouped, percent, plural } from '../../util/numbers.ts'
import { kindText } from './grid.ts'
import type { SpentKind } from './spent.ts'
import type { CompactionRow, Figure, SessionFigures } from './figures.ts'

/* How a session's figures are said, alike on the page, in the terminal and in reports. Part of the page's code too. */

/** Estimates and upper bounds are marked; what was measured is not. */
export const marked = ({ basis }: Pick<Figure, 'basis'>, text: string): string =>
  basis === 'estimate' ? `≈ ${text}` : basis === 'upper bound' ? `≤ ${text}` : text

export const tokensText = (figure: Figure): string => marked(figure, grouped(figure.value))

/** A price that is not known is not $0.00. */
export function costText({ cost, unpriced }: Pick<SessionFigures, 'cost' | 'unpriced'>): string {
  if (cost === undefined) return 'unknown'
  const text = marked(cost, dollars(cost.value))
  return unpriced === 0 ? text : `${text} + ${plural(unpriced, 'call')} without a known price`
}

export const savedText = ({ saved }: Pick<SessionFigures, 'saved'>): string =>
  saved === undefined ? 'unknown' : marked(saved, dollars(saved.value))

/** The same session without Plimsoll, in dollars. */
export const withoutCost = ({ cost, saved, unpriced }: SessionFigures): Figure | undefined =>
  cost === undefined || saved === undefined || unpriced > 0
    ? undefined
    : { value: cost.value + saved.value, basis: 'estimate' }

export const compactionText = ({ before, after }: Pick<CompactionRow, 'before' | 'after'>): string =>
  `${tokensText(before)} → ${tokensText(after)} tokens`

/** The main figures by name, in the order in which every place shows them. */
export function figureList(figures: SessionFigures): readonly (readonly [name: string, value: string])[] {
  const { calls, peak, limit, withoutPlimsoll, compactions, leftOut, shortened, usage, failed, recovered } = figures
  const without = withoutCost(figures)
  return [
    ['calls', grouped(calls)],
    ['largest prompt', `${tokensText(peak)}${limit === 0 ? '' : ` of ${grouped(limit)}`}`],
    ['without Plimsoll', tokensText(withoutPlimsoll)],
    ['compactions', grouped(compactions)],
    ['left out', plural(leftOut, 'item')],
    ...(shortened === 0 ? [] : [['shortened results', grouped(shortened)] as const]),
    ['from the cache', usage.input === 0 ? '–' : `${Math.round((100 * usage.cacheRead) / usage.input)} %`],
    ['cost', costText(figures)],
    ['cost without Plimsoll', without === undefined ? 'unknown' : marked(without, dollars(without.value))],
    ['saved, net', savedText(figures)],
    ...(failed === 0 ? [] : [['failed calls', grouped(failed)] as const]),
    ...(recovered === 0 ? [] : [['overflows recovered', grouped(recovered)] as const]),
  ]
}

/** The session in one sentence. `most`: what most of the tokens went to, in words. */
export function answerText(figures: SessionFigures, most: string | undefined): string {
  const { calls, cost, compactions, peak, limit, recovered } = figures
  const without = withoutCost(figures)
  const ratio = cost === undefined || without === undefined ? 1 : cost.value / Math.max(without.value, 1e-9)
  const change = Math.round((ratio - 1) * 100)
  const price =
    cost === undefined
      ? 'price unknown'
      : without === undefined || change === 0
        ? marked(cost, dollars(cost.value))
        : `${marked(cost, dollars(cost.value))} instead of ${marked(without, dollars(without.value))} (${change < 0 ? '−' : '+'}${Math.abs(change)} %)`
  return [
    plural(calls, 'call'),
    price,
    ...(most === undefined ? [] : [most]),
    plural(compactions, 'compaction'),
    ...(recovered > 0
      ? [`${plural(recovered, 'overflow')} recovered`]
      : limit > 0 && peak.value <= limit
        ? ['never over the limit']
        : []),
  ].join(' · ')
}

/** What most of the tokens went to. */
export const mostText = ([first]: readonly SpentKind[]): string | undefined =>
  first === undefined ? undefined : `${percent(first.share)} went to ${kindText(first.name)}`

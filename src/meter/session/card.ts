import { short } from '../../util/numbers.ts'
import type { SessionFigures } from './figures.ts'
import { byKind, colourOf, gridOf, GRID_COLUMNS, kindText, toolsOf } from './grid.ts'
import type { SpentKind } from './spent.ts'
import { answerText, mostText } from './words.ts'

/* The picture of a session that people share: drawn here for the browser and the terminal. No text of the session and no path stands in it. */

export interface CardSession {
  readonly figures: SessionFigures
  readonly kinds: readonly SpentKind[]
  readonly series: CardSeries
  /** Numbers of the calls right after a compaction. */
  readonly compactedBefore: readonly number[]
}

/** The calls of a session, column by column. */
export interface CardSeries {
  readonly calls: readonly number[]
  readonly sent: readonly number[]
  readonly whole: readonly number[]
  readonly limit: readonly (number | null)[]
  readonly window: readonly (number | null)[]
  readonly parts: Readonly<Record<string, readonly number[]>>
}

export const CARD_WIDTH = 1200
export const CARD_HEIGHT = 630

const LIGHT: Readonly<Record<string, string>> = {
  ground: '#ffffff',
  ink: '#1b1f27',
  dim: '#5b6472',
  line: '#e3e7ed',
  accent: '#1f5fc4',
  limit: '#c0392b',
  whole: '#8a5cc2',
  system: '#6b7280',
  record: '#0f766e',
  user: '#c2410c',
  model: '#7c3aed',
  media: '#be185d',
  tool1: '#1d4ed8',
  tool2: '#0891b2',
  tool3: '#4d7c0f',
  tool4: '#b45309',
  tool5: '#9d174d',
  other: '#94a3b8',
  free: '#f1f4f8',
  reserve: '#d5dae2',
}
const DARK: Readonly<Record<string, string>> = {
  ground: '#12151b',
  ink: '#e7eaf0',
  dim: '#a3acba',
  line: '#2a313d',
  accent: '#6ea5ff',
  limit: '#ff7d6e',
  whole: '#bb96ea',
  system: '#9ca3af',
  record: '#2dd4bf',
  user: '#fb923c',
  model: '#a78bfa',
  media: '#f472b6',
  tool1: '#60a5fa',
  tool2: '#22d3ee',
  tool3: '#a3e635',
  tool4: '#fbbf24',
  tool5: '#f0abfc',
  other: '#64748b',
  free: '#1f2530',
  reserve: '#343c4a',
}

/** The same picture for a dark page. */
export function inDark(svg: string): string {
  const names = new Map(Object.entries(LIGHT).map(([name, colour]) => [colour, name]))
  return svg.replace(/#[0-9a-f]{6}/g, (colour) => DARK[names.get(colour) ?? ''] ?? colour)
}

const MARGIN = 56
const GRID = { x: MARGIN, y: 222, cell: 18, gap: 4 }
const CHART = { x: 560, y: 222, width: 584, height: 216 }

const paint = (name: string): string => LIGHT[name] ?? LIGHT['other']!

export function cardSvg({ figures, kinds, series, compactedBefore }: CardSession): string {
  const tools = toolsOf(series)
  const last = series.calls.length - 1
  const parts = Object.entries(series.parts)
    .map(([name, sizes]) => [name, sizes[last] ?? 0] as const)
    .filter(([, size]) => size > 0)
    .sort(([a], [b]) => byKind(a, b) || a.localeCompare(b))
  const grid = gridOf({ parts, limit: series.limit[last] ?? 0, window: series.window[last] ?? 0 })
  const cells = grid.cells.map(({ kind }, place) => {
    const [column, row] = [place % GRID_COLUMNS, Math.floor(place / GRID_COLUMNS)]
    const step = GRID.cell + GRID.gap
    return `<rect x="${GRID.x + column * step}" y="${GRID.y + row * step}" width="${GRID.cell}" height="${GRID.cell}" rx="4" fill="${paint(colourOf(kind, tools))}"/>`
  })
  const lines = wrapped(answerText(figures, mostText(kinds)).replaceAll('≈ ', '~'), 58)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${CARD_WIDTH}" height="${CARD_HEIGHT}" viewBox="0 0 ${CARD_WIDTH} ${CARD_HEIGHT}" font-family="Inter, system-ui, sans-serif">`,
    `<rect width="${CARD_WIDTH}" height="${CARD_HEIGHT}" fill="${paint('ground')}"/>`,
    `<g fill="none" stroke="${paint('accent')}" stroke-width="4"><circle cx="${MARGIN + 14}" cy="62" r="12"/><path d="M${MARGIN - 6} 62h40"/></g>`,
    text(MARGIN + 48, 71, 'Plimsoll', { size: 26, weight: 600, fill: paint('ink') }),
    ...lines
      .slice(0, 3)
      .map((line, at) => text(MARGIN, 126 + at * 42, line, { size: 32, weight: 600, fill: paint('ink') })),
    ...cells,
    ...chart(series, compactedBefore),
    ...legend(kinds, tools),
    `<path d="M0 ${CARD_HEIGHT - 64}h${CARD_WIDTH}" stroke="${paint('line')}"/>`,
    text(MARGIN, CARD_HEIGHT - 24, 'npx plimsoll inspect', { size: 22, weight: 600, fill: paint('accent') }),
    text(CARD_WIDTH - MARGIN, CARD_HEIGHT - 24, figures.models.slice(0, 2).join(', '), {
      size: 20,
      weight: 400,
      fill: paint('dim'),
      anchor: 'end',
    }),
    '</svg>',
  ].join('\n')
}

interface TextLook {
  readonly size: number
  readonly weight: 400 | 600
  readonly fill: string
  readonly anchor?: 'end'
}

const text = (x: number, y: number, words: string, { size, weight, fill, anchor }: TextLook): string =>
  `<text x="${x}" y="${y}" font-size="${size}" font-weight="${weight}" fill="${fill}"${anchor === undefined ? '' : ` text-anchor="${anchor}"`}>${escaped(words)}</text>`

const escaped = (words: string): string =>
  words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

/** Lines of at most so many characters, broken at spaces. */
function wrapped(words: string, width: number): readonly string[] {
  const lines: string[] = []
  for (const word of words.split(' ')) {
    const line = lines.at(-1)
    if (line !== undefined && line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`
    else lines.push(word)
  }
  return lines
}

/** The saw teeth: prompts against the window, and what would have been sent without Plimsoll, cut at the top. */
function chart(series: CardSeries, compactedBefore: readonly number[]): readonly string[] {
  const { calls, sent, whole, limit, window } = series
  const largest = Math.max(...window.map((one) => one ?? 0), ...limit.map((one) => one ?? 0))
  const top = Math.max(1, largest === 0 ? Math.max(...sent) : 1.15 * largest)
  const { x, y, width, height } = CHART
  const xAt = (at: number): number => round(x + (calls.length < 2 ? 0 : (at / (calls.length - 1)) * width))
  const yAt = (value: number): number => round(y + height - (Math.min(value, top) / top) * height)
  const points = places(calls.length)
  const path = (values: readonly (number | null)[]): string =>
    points.map((at, place) => `${place === 0 ? 'M' : 'L'}${xAt(at)} ${yAt(values[at] ?? 0)}`).join('')
  const cutAt = whole.findIndex((value) => value > top)
  const shown = points.filter((at) => cutAt < 0 || at <= cutAt)
  const wholePath = shown.map((at, place) => `${place === 0 ? 'M' : 'L'}${xAt(at)} ${yAt(whole[at]!)}`).join('')
  const end = whole.at(-1) ?? 0
  const line = limit.at(-1) ?? 0
  return [
    `<path d="${path(sent)}L${xAt(calls.length - 1)} ${y + height}L${x} ${y + height}Z" fill="${paint('accent')}" fill-opacity="0.2"/>`,
    `<path d="${path(sent)}" fill="none" stroke="${paint('accent')}" stroke-width="3"/>`,
    ...(whole.some((value, at) => value > sent[at]!)
      ? [
          `<path d="${wholePath}" fill="none" stroke="${paint('whole')}" stroke-width="3" stroke-dasharray="9 7"/>`,
          text(x + width, y - 12, `↑ without Plimsoll ${short(end)}`, {
            size: 18,
            weight: 600,
            fill: paint('whole'),
            anchor: 'end',
          }),
        ]
      : []),
    ...(line > 0
      ? [
          `<path d="M${x} ${yAt(line)}h${width}" stroke="${paint('limit')}" stroke-width="3"/>`,
          text(x, yAt(line) - 8, `limit ${short(line)}`, { size: 16, weight: 600, fill: paint('limit') }),
        ]
      : []),
    ...compactedBefore.slice(-60).flatMap((call) => {
      const at = calls.indexOf(call)
      return at < 0 ? [] : [`<path d="M${xAt(at) - 7} ${y + height + 16}l7 -10l7 10z" fill="${paint('dim')}"/>`]
    }),
    text(x, y + height + 40, `${calls.length} calls`, { size: 16, weight: 400, fill: paint('dim') }),
    ...(compactedBefore.length > 0
      ? [
          text(x + width, y + height + 40, 'marks: compactions', {
            size: 16,
            weight: 400,
            fill: paint('dim'),
            anchor: 'end',
          }),
        ]
      : []),
  ]
}

/** More points than pixels say nothing. */
const MOST_POINTS = 600
function places(count: number): readonly number[] {
  const every = Math.max(1, Math.ceil(count / MOST_POINTS))
  return Array.from({ length: count }, (_, at) => at).filter((at) => at % every === 0 || at === count - 1)
}

const round = (value: number): number => Math.round(value * 10) / 10

/** What the tokens went to, under the grid and the chart. */
function legend(kinds: readonly SpentKind[], tools: readonly string[]): readonly string[] {
  return kinds.slice(0, 6).flatMap(({ name, share }, at) => {
    const [x, y] = [MARGIN + (at % 3) * 370, 500 + Math.floor(at / 3) * 34]
    const words = `${Math.round(share * 100)} % ${kindText(name)}`
    return [
      `<rect x="${x}" y="${y - 14}" width="16" height="16" rx="4" fill="${paint(colourOf(name, tools))}"/>`,
      text(x + 26, y, words.length > 34 ? `${words.slice(0, 33)}…` : words, {
        size: 18,
        weight: 400,
        fill: paint('ink'),
      }),
    ]
  })
}

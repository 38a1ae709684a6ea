import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { PlimsollError } from '../../core/errors.ts'
import { seriesOf } from '../../dashboard/session-page.ts'
import { cardSvg } from '../../meter/session/card.ts'
import { compactionsOf, figuresOf, type PriceOf } from '../../meter/session/figures.ts'
import { byKind, colourOf, GRID_COLUMNS, gridOf, type GridPrompt, kindText } from '../../meter/session/grid.ts'
import type { FoldedLog } from '../../meter/session/log.ts'
import { Composition } from '../../meter/session/parts.ts'
import { spentOf } from '../../meter/session/spent.ts'
import { packageRoot } from '../../util/package-root.ts'
import { padEnd, percent, plainText, short } from '../kit/figures.ts'
import { painterOf, type Screen, type Style } from '../kit/output.ts'

/* A session as picture and as grid, outside of a browser. */

/** Letters, because not every terminal has colours. */
const LOOKS: Readonly<Record<string, readonly [letter: string, style: Style]>> = {
  system: ['S', 'dim'],
  record: ['R', 'cyan'],
  user: ['U', 'yellow'],
  model: ['M', 'green'],
  media: ['P', 'green'],
  tool1: ['a', 'red'],
  tool2: ['b', 'red'],
  tool3: ['c', 'red'],
  tool4: ['d', 'red'],
  tool5: ['e', 'red'],
  other: ['o', 'red'],
  free: ['·', 'dim'],
  reserve: ['▒', 'dim'],
}

/** What stands in the window: a cell for each 200th of it, the limit as the load line, and what is free. */
function gridLines(prompt: GridPrompt, screen: Pick<Screen, 'colour'>): readonly string[] {
  const paint = painterOf(screen)
  const { cells, limitAt } = gridOf(prompt)
  const { parts, limit, window } = prompt
  const tools = parts.flatMap(([name]) => (name.startsWith('results') ? [name] : []))
  const look = (kind: string): string => {
    const [letter, style] = LOOKS[colourOf(kind, tools)]!
    return paint(style, letter)
  }
  const rows = Array.from({ length: cells.length / GRID_COLUMNS }, (_, row) =>
    cells
      .slice(row * GRID_COLUMNS, (row + 1) * GRID_COLUMNS)
      .map(({ kind }, column) => {
        const isLast = row * GRID_COLUMNS + column === limitAt - 1
        return look(kind) + (isLast ? paint('red', '┃') : ' ')
      })
      .join(''),
  )
  const used = parts.reduce((sum, [, size]) => sum + size, 0)
  const listed: readonly (readonly [string, number])[] = [
    ...parts,
    ['free', Math.max(0, limit - used)],
    ['reserve', Math.max(0, window - limit)],
  ]
  const legend = listed
    .filter(([, size]) => size > 0)
    .map(
      ([kind, size]) =>
        `${look(kind)} ${padEnd(plainText(kindText(kind)).slice(0, 22), 22)} ${short(size).padStart(6)} ${percent(size, Math.max(1, window)).padStart(5)}`,
    )
  return Array.from({ length: Math.max(rows.length, legend.length) }, (_, at) =>
    // At most 78 columns: a terminal of 80 does not break the rows.
    `${padEndCells(rows[at])} ${legend[at] ?? ''}`.trimEnd(),
  )
}

/** A row of cells with its colours is longer than it looks. */
const padEndCells = (row: string | undefined): string => row ?? ' '.repeat(GRID_COLUMNS * 2)

/** The grid of a session's last call. */
export function sessionGrid(
  log: FoldedLog,
  countText: (text: string) => number,
  screen: Pick<Screen, 'colour'>,
): readonly string[] {
  const series = seriesOf({ log, composition: once(() => new Composition(log, countText)) }, 0)
  const last = series.calls.length - 1
  if (last < 0) return []
  const parts = Object.entries(series.parts)
    .map(([name, sizes]) => [name, sizes[last] ?? 0] as const)
    .filter(([, size]) => size > 0)
    .sort(([a], [b]) => byKind(a, b) || a.localeCompare(b))
  return gridLines({ parts, limit: series.limit[last] ?? 0, window: series.window[last] ?? 0 }, screen)
}

const once = <T>(make: () => T): (() => T) => {
  let made: T | undefined
  return () => (made ??= make())
}

interface PictureOptions {
  readonly countText: (text: string) => number
  readonly priceOf: PriceOf
  readonly isReplay?: boolean
}

export function pictureOf(log: FoldedLog, { countText, priceOf, isReplay }: PictureOptions): string {
  const composition = new Composition(log, countText)
  return cardSvg({
    figures: figuresOf(log, isReplay),
    kinds: spentOf(log, composition, priceOf).kinds,
    series: seriesOf({ log, composition: () => composition }, 0),
    compactedBefore: compactionsOf(log)
      .filter(({ undone }) => !undone)
      .map(({ beforeCall }) => beforeCall),
  })
}

interface Renderer {
  readonly Resvg: new (svg: string, options: object) => { render(): { asPng(): Uint8Array } }
}

const RENDERER = '@resvg/resvg-js'

/** Writes the picture: as SVG where the name ends so, else as PNG. */
export async function writePicture(file: string, svg: string): Promise<void> {
  if (file.endsWith('.svg')) return writeFile(file, svg)
  const renderer = (await import(RENDERER).catch((cause: unknown) => {
    throw new PlimsollError('unsupported', 'PNG needs the package @resvg/resvg-js, which is not installed.', {
      cause,
      advice: 'Run npm install @resvg/resvg-js, or name a file that ends in .svg.',
    })
  })) as Renderer
  const fontFiles = [400, 600].map((weight) => fileURLToPath(new URL(`dist/page/inter-${weight}.ttf`, packageRoot())))
  const font = { fontFiles, loadSystemFonts: false, defaultFontFamily: 'Inter' }
  await writeFile(file, new renderer.Resvg(svg, { font }).render().asPng())
}

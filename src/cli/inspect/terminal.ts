import type { Inspection } from '../../lab/inspect/inspect.ts'
import { overviewOf } from '../../lab/inspect/overview.ts'
import { bar, columnChart } from './chart.ts'
import { dollars, grouped, percent, plural, short } from './figures.ts'
import { displayWidth, fitEnd, fitWidth, padEnd, padStart, plainText } from './width.ts'
import { itemName, peakOf, savingName, shownSlices, sliceName, summaryOf, titleOf, usageOf } from './wording.ts'

export interface TerminalOptions {
  /** Columns. @default 80 */
  readonly width?: number
  /** Off in pipes and with NO_COLOR; the caller knows. @default false */
  readonly colour?: boolean
  /** The full report of each session, also when there are many. @default up to three sessions */
  readonly details?: boolean
}

type Paint = (code: number, text: string) => string

const BOLD = 1
const DIM = 2
const RED = 31
const CYAN = 36

// Below this a table's second column of figures has no room beside a name.
const NARROW = 60
const MAX_WIDTH = 120
const PROBLEMS_SHOWN = 5
const MAX_DETAILED = 3

/** The report for a terminal. No line is wider than the terminal. */
export function renderTerminal(inspections: readonly Inspection[], options: TerminalOptions = {}): string {
  const width = Math.max(20, Math.min(options.width ?? 80, MAX_WIDTH))
  const paint: Paint = options.colour === true ? (code, text) => `\u001b[${code}m${text}\u001b[0m` : (_, text) => text
  const details = options.details ?? inspections.length <= MAX_DETAILED
  const blocks = [
    ...(inspections.length > 1 || !details ? [renderOverview(inspections, width, paint)] : []),
    ...(details ? inspections.map((inspection) => renderOne(inspection, width, paint)) : []),
  ]
  return `${blocks.map((lines) => lines.join('\n')).join('\n\n')}\n`
}

function renderOverview(inspections: readonly Inspection[], width: number, paint: Paint): readonly string[] {
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
    paint(BOLD, fitWidth('All sessions', width)),
    ...wrap(summary, width).map((line) => paint(DIM, line)),
    ...section('Where the tokens went', slices(overview, width, paint), width, paint),
    ...section(
      'By session',
      rows.map((row) => fitWidth(row, width)),
      width,
      paint,
    ),
    ...section('What would be saved', savings(overview, width), width, paint),
  ]
}

function renderOne(inspection: Inspection, width: number, paint: Paint): readonly string[] {
  const usage = usageOf(inspection)
  return [
    paint(BOLD, fitEnd(titleOf(inspection), width)),
    ...wrap(summaryOf(inspection), width).map((line) => paint(DIM, line)),
    ...wrap(peakOf(inspection), width),
    ...(usage === undefined ? [] : wrap(usage, width)),
    ...section('Where the tokens went', slices(inspection, width, paint), width, paint),
    ...section('Load per call', growth(inspection, width, paint), width, paint),
    ...section('Largest items', biggest(inspection, width), width, paint),
    ...section('Read again', readAgain(inspection, width), width, paint),
    ...section('The same result again', duplicates(inspection, width), width, paint),
    ...section('What would be saved', savings(inspection, width), width, paint),
    ...section('Problems', problems(inspection, width, paint), width, paint),
  ]
}

function section(title: string, lines: readonly string[], width: number, paint: Paint): readonly string[] {
  return lines.length === 0 ? [] : ['', paint(BOLD, fitWidth(title, width)), ...lines]
}

function slices(
  { slices: all, sentTokens }: Pick<Inspection, 'slices' | 'sentTokens'>,
  width: number,
  paint: Paint,
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
    const drawn = room > 3 ? `  ${paint(CYAN, bar(largest === 0 ? 0 : slice.sentTokens / largest, room))}` : ''
    return `${label}${padStart(short(slice.tokens), 10)}${sent}${share}${drawn}`.trimEnd()
  })
  return heading === '' ? rows : [paint(DIM, heading), ...rows]
}

function growth(
  { growth: { points, compactedBefore }, window }: Inspection,
  width: number,
  paint: Paint,
): readonly string[] {
  if (points.length < 2) return []
  const values = points.map(({ load, reported = load }) => reported)
  const chart = columnChart(values, {
    width,
    height: width < NARROW ? 6 : 10,
    marks: compactedBefore,
    ...(window !== undefined && { line: window }),
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
  const drawn = chart.map((line) => (line.includes('┼') ? paint(overWindow ? RED : CYAN, line) : line))
  return [...drawn, ...wrap(caption, width).map((line) => paint(DIM, line))]
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

function readAgain({ repeats }: Inspection, width: number): readonly string[] {
  const rows = repeats.readAgain.map(({ path, reads, tokens, sentTokens }) => {
    const figures = `${padStart(`${reads} ×`, 6)}${padStart(short(tokens), 8)}${width < NARROW ? '' : padStart(short(sentTokens), 8)}`
    return `${figures}  ${fitEnd(plainText(path), width - figures.length - 2)}`
  })
  const share = repeats.repeatedLineShare
  if (share >= 0.01)
    rows.push(...wrap(`${percent(share, 1)} of the lines in results had stood in an earlier result.`, width))
  return rows
}

function duplicates({ repeats }: Inspection, width: number): readonly string[] {
  return repeats.duplicates.map(({ tool, target, copies, tokens, sentTokens }) => {
    const figures = `${padStart(`${copies} ×`, 6)}${padStart(short(tokens), 8)}${width < NARROW ? '' : padStart(short(sentTokens), 8)}`
    const name = plainText(tool ?? 'unknown tool')
    const room = width - figures.length - 2
    return `${figures}  ${fitWidth(`${name} ${fitEnd(plainText(target ?? ''), Math.max(8, room - displayWidth(name) - 1))}`, room)}`
  })
}

function savings(inspection: Pick<Inspection, 'savings' | 'sentTokens'>, width: number): readonly string[] {
  return inspection.savings.map((saving) => {
    const figures = `${padStart(short(saving.sentTokens), 8)}${padStart(percent(saving.sentTokens, inspection.sentTokens), 6)}`
    const text = `${savingName(saving)} (${grouped(saving.items)})`
    return `${figures}  ${fitWidth(text, width - figures.length - 2)}`
  })
}

function problems({ problems: all }: Inspection, width: number, paint: Paint): readonly string[] {
  const shown = all
    .slice(0, PROBLEMS_SHOWN)
    .map(({ line, message }) => fitWidth(plainText(`line ${line}: ${message}`), width))
  const rest = all.length - shown.length
  return [...shown, ...(rest > 0 ? [`… and ${grouped(rest)} more`] : [])].map((line) => paint(RED, line))
}

/** Breaks at spaces; a word longer than the terminal is cut. */
export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = []
  let current = ''
  for (const word of text.split(' ')) {
    const joined = current === '' ? word : `${current} ${word}`
    if (fitWidth(joined, width) === joined) current = joined
    else {
      if (current !== '') lines.push(current)
      current = fitWidth(word, width)
    }
  }
  return current === '' ? lines : [...lines, current]
}

import { displayWidth, fitEnd, fitWidth, padEnd, padStart, plainText } from '../inspect/width.ts'
import { painterOf, type Screen } from './screen.ts'

export interface Column {
  readonly head: string
  /** @default 'left' */
  readonly align?: 'left' | 'right'
  /** Gives way when the terminal is narrow, and keeps its end (paths) or its beginning. One column may. */
  readonly gives?: 'end' | 'start'
  /** Left out, the last such column first, where the giving column would become too short to be read. */
  readonly optional?: true
}

const GAP = 2
const LEAST = 8
/** Names need this much to be told apart. */
const READABLE = 24

/** Rows under heads. Text from outside is made harmless; no line is wider than the screen where that is possible. */
export function renderTable(
  given: readonly Column[],
  rows: readonly (readonly string[])[],
  screen: Pick<Screen, 'width' | 'colour'>,
): string {
  const texts = rows.map((row) => row.map(plainText))
  const natural = given.map(({ head }, index) =>
    Math.max(head.length, ...texts.map((row) => displayWidth(row[index] ?? ''))),
  )
  const shown = columnsThatFit(given, natural, screen.width)
  const columns = shown.map((index) => given[index]!)
  const cells = texts.map((row) => shown.map((index) => row[index] ?? ''))
  const widths = shown.map((index) => natural[index]!)
  const total = widthOf(widths)
  const giving = columns.findIndex(({ gives }) => gives !== undefined)
  if (giving >= 0 && total > screen.width)
    widths[giving] = Math.max(LEAST, (widths[giving] ?? 0) - (total - screen.width))
  const line = (row: readonly string[]): string =>
    columns
      .map(({ align = 'left', gives }, index) => {
        const width = widths[index] ?? 0
        const text = gives === 'end' ? fitEnd(row[index] ?? '', width) : fitWidth(row[index] ?? '', width)
        return align === 'right' ? padStart(text, width) : padEnd(text, width)
      })
      .join(' '.repeat(GAP))
      .trimEnd()
  const paint = painterOf(screen)
  return `${[paint('dim', line(columns.map(({ head }) => head))), ...cells.map(line)].join('\n')}\n`
}

const widthOf = (widths: readonly number[]): number => widths.reduce((sum, width) => sum + width + GAP, -GAP)

function columnsThatFit(columns: readonly Column[], widths: readonly number[], width: number): readonly number[] {
  let shown = columns.map((_, index) => index)
  const least = (index: number): number =>
    columns[index]!.gives === undefined ? widths[index]! : Math.min(READABLE, widths[index]!)
  while (widthOf(shown.map(least)) > width) {
    const optional = shown.findLast((index) => columns[index]!.optional === true)
    if (optional === undefined) break
    shown = shown.filter((index) => index !== optional)
  }
  return shown
}

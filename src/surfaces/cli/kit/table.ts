import { displayWidth, fitEnd, fitWidth, padEnd, padStart, plainText } from '../inspect/width.ts'
import { painterOf, type Screen } from './screen.ts'

export interface Column {
  readonly head: string
  /** @default 'left' */
  readonly align?: 'left' | 'right'
  /** Gives way when the terminal is narrow, and keeps its end (paths) or its beginning. One column may. */
  readonly gives?: 'end' | 'start'
}

const GAP = 2
const LEAST = 8

/** Rows under heads. Text from outside is made harmless; no line is wider than the screen where that is possible. */
export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  screen: Pick<Screen, 'width' | 'colour'>,
): string {
  const cells = rows.map((row) => row.map(plainText))
  const widths = columns.map(({ head }, index) =>
    Math.max(head.length, ...cells.map((row) => displayWidth(row[index] ?? ''))),
  )
  const total = widths.reduce((sum, width) => sum + width + GAP, -GAP)
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

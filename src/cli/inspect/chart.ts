import { short } from './figures.ts'
import { padStart } from './width.ts'

export interface ChartOptions {
  /** Columns of the whole chart, axis included. */
  readonly width: number
  readonly height: number
  /** A line across the chart: the window. */
  readonly line?: number
  /** Positions (in values) to mark under the axis: compactions. */
  readonly marks?: readonly number[]
}

const LEVELS = ['', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const
const AXIS = 7

/**
 * Columns of eighths of a block. More values than columns share one (its highest shows, since the peak is what overflows);
 * fewer are spread. The line stands where it belongs, also above all values.
 */
export function columnChart(values: readonly number[], options: ChartOptions): readonly string[] {
  const { height, line, marks = [] } = options
  const columns = Math.max(1, options.width - AXIS - 1)
  if (values.length === 0) return []
  const peak = Math.max(1, ...peaks(values, columns))
  // A window far above the load would press the columns flat: it is named instead of drawn.
  const drawLine = line !== undefined && line <= peak * 4
  const top = drawLine ? Math.max(peak, line) : peak
  const heights = peaks(values, columns).map((value) => Math.round((value / top) * height * 8))
  const lineRow = drawLine ? Math.min(height - 1, Math.floor((line / top) * height - 1e-9)) : -1
  const rows: string[] = []
  for (let row = height - 1; row >= 0; row--) {
    const label = row === lineRow ? short(line ?? 0) : row === height - 1 ? short(top) : row === 0 ? '0' : ''
    const cells = heights.map((eighths) => {
      const level = Math.min(8, Math.max(0, eighths - row * 8))
      return level > 0 ? (LEVELS[level] as string) : row === lineRow ? '┄' : ' '
    })
    rows.push(`${padStart(label, AXIS - 1)} ${row === lineRow ? '┼' : '│'}${cells.join('')}`)
  }
  const axis = Array.from({ length: heights.length }, () => '─')
  for (const mark of marks) {
    const column = Math.min(axis.length - 1, Math.floor((mark / values.length) * axis.length))
    axis[column] = '▲'
  }
  rows.push(`${' '.repeat(AXIS)}└${axis.join('')}`)
  return rows
}

/** The highest value of each column. */
function peaks(values: readonly number[], columns: number): readonly number[] {
  const count = Math.min(columns, values.length)
  // Few values become broader columns, so that a short session still fills the chart.
  const repeat = Math.max(1, Math.floor(columns / values.length))
  const found = Array.from({ length: count }, (_, column) => {
    const from = Math.floor((column * values.length) / count)
    const to = Math.max(from + 1, Math.floor(((column + 1) * values.length) / count))
    let peak = 0
    for (let i = from; i < to; i++) peak = Math.max(peak, values[i] ?? 0)
    return peak
  })
  return found.flatMap((value) => Array.from({ length: repeat }, () => value))
}

/** A bar of eighths. */
export function bar(share: number, columns: number): string {
  const eighths = Math.round(Math.max(0, Math.min(1, share)) * columns * 8)
  const rest = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'][eighths % 8] as string
  return '█'.repeat(eighths >> 3) + rest
}

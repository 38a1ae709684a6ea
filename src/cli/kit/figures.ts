import { stripVTControlCharacters } from 'node:util'
import { graphemes } from '../../util/graphemes.ts'
import { short } from '../../util/numbers.ts'

export { dollars, grouped, percent, plural, short } from '../../util/numbers.ts'

// Wide and fullwidth blocks of Unicode's East Asian Width, and emoji.
const WIDE =
  /^(?![\uff61-\uffdc])[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\p{Script=Yi}\p{Emoji_Presentation}\u3000-\u303e\uff01-\uff60\uffe0-\uffe6]/u

/** The columns that a text takes in a terminal: East Asian wide characters and emoji two, combining marks none. */
export function displayWidth(text: string): number {
  // Most text is printable ASCII, one column per character.
  if (/^[\x20-\x7e]*$/.test(text)) return text.length
  let width = 0
  for (const { segment } of graphemes(text)) width += graphemeWidth(segment)
  return width
}

/** Cuts text to a number of columns; cut text ends with an ellipsis. */
export function fitWidth(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text
  const segments = segmentsOf(text)
  return columns <= 0 ? '' : `${segments.slice(0, countFitting(segments, columns - 1)).join('')}…`
}

/** Cuts at the front: the end of a path says more than its beginning. */
export function fitEnd(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text
  const segments = segmentsOf(text)
  const kept = countFitting(segments.toReversed(), columns - 1)
  return columns <= 0 ? '' : `…${segments.slice(segments.length - kept).join('')}`
}

const segmentsOf = (text: string): readonly string[] => Array.from(graphemes(text), ({ segment }) => segment)

/** The number of leading segments that fit into so many columns. */
function countFitting(segments: readonly string[], columns: number): number {
  let width = 0
  const beyond = segments.findIndex((segment) => (width += graphemeWidth(segment)) > columns)
  return beyond < 0 ? segments.length : beyond
}

export const padEnd = (text: string, columns: number): string =>
  text + ' '.repeat(Math.max(0, columns - displayWidth(text)))
export const padStart = (text: string, columns: number): string =>
  ' '.repeat(Math.max(0, columns - displayWidth(text))) + text

// Control characters, and marks that change the text direction.
const CONTROL = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** Text from transcripts may contain escape sequences, which must not move the user's cursor. */
export const plainText = (text: string): string => stripVTControlCharacters(text).replace(CONTROL, ' ')

function graphemeWidth(grapheme: string): number {
  const code = grapheme.codePointAt(0) ?? 0
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return 0
  if (/^[\p{Mn}\p{Me}\p{Cf}]/u.test(grapheme)) return 0
  if (grapheme.includes('\ufe0f')) return 2
  return WIDE.test(grapheme) ? 2 : 1
}

export interface ChartOptions {
  /** Columns of the whole chart, with the axis. */
  readonly width: number
  readonly height: number
  /** A horizontal line in the chart: the window. */
  readonly line?: number
  /** Indexes of values to mark under the axis: compactions. */
  readonly marks?: readonly number[]
}

const LEVELS = ['', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const
const AXIS = 7

/**
 * A chart whose columns are drawn in eighths of a block. If there are more values than columns, a column shows the highest of its values, because
 * overflows depend on the peak; fewer values are spread. `line` is drawn at its height, above all values if it is higher.
 */
export function columnChart(values: readonly number[], options: ChartOptions): readonly string[] {
  const { height, line, marks = [] } = options
  const columns = Math.max(1, options.width - AXIS - 1)
  if (values.length === 0) return []
  const peak = Math.max(1, ...peaks(values, columns))
  // A line far above the values would flatten the columns, so it is named instead of drawn.
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

function peaks(values: readonly number[], columns: number): readonly number[] {
  const count = Math.min(columns, values.length)
  // Few values get broader columns, so that a short session still fills the chart.
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

/** A horizontal bar, drawn in eighths of a block. */
export function bar(share: number, columns: number): string {
  const eighths = Math.round(Math.max(0, Math.min(1, share)) * columns * 8)
  const rest = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'][eighths % 8] as string
  return '█'.repeat(eighths >> 3) + rest
}

/** Breaks text at spaces; a word longer than the terminal is cut. */
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

import type { LoadPart, Report, ReportBar, ReportPart, ReportTable } from '../../dashboard/page-types.ts'
import {
  bar,
  columnChart,
  displayWidth,
  fitEnd,
  fitWidth,
  grouped,
  padEnd,
  plainText,
  plural,
  short,
  wrap,
} from '../kit/figures.ts'
import { painterOf, renderTable, type Painter, type Screen } from '../kit/output.ts'

export interface ReportLook extends Pick<Screen, 'width' | 'colour'> {
  /** Rows shown of a table. @default 12 */
  readonly rows?: number
  /** Shows every row and sentence, and full texts. @default false: the first ones and a count */
  readonly details?: boolean
}

const LEAST_WIDTH = 20
const MAX_WIDTH = 120
/** Narrower terminals also get lower charts. */
const NARROW = 60
const ROWS_SHOWN = 12
/** Most lines shown of a note. */
const SENTENCES_SHOWN = 4

/** A report for a terminal, with the same content as the page. Lines fit the terminal, except full texts. */
export function renderReport({ sections }: Report, look: ReportLook): string {
  const text = new ReportText(look)
  const blocks = sections.map(({ title, about, figures = [], said = '', parts }) => {
    const facts = figures.map(([name, value]) => `${name} ${value}`).join(' · ')
    return [
      text.paint('bold', fitEnd(title, text.width)),
      ...wrap(about, text.width).map((line) => text.paint('dim', line)),
      ...wrap(facts, text.width),
      ...wrap(said, text.width),
      ...parts.flatMap((part) => text.part(part)),
    ].join('\n')
  })
  return `${blocks.join('\n\n')}\n`
}

class ReportText {
  readonly width: number
  readonly paint: Painter
  readonly #rows: number
  readonly #details: boolean

  constructor({ width, colour, rows = ROWS_SHOWN, details = false }: ReportLook) {
    this.width = Math.max(LEAST_WIDTH, Math.min(width, MAX_WIDTH))
    this.paint = painterOf({ colour })
    this.#rows = details ? Infinity : rows
    this.#details = details
  }

  part(part: ReportPart): readonly string[] {
    const lines = this.#linesOf(part)
    return lines.length === 0 ? [] : ['', this.paint('bold', fitWidth(part.title, this.width)), ...lines]
  }

  #linesOf(part: ReportPart): readonly string[] {
    switch (part.kind) {
      case 'load':
        return this.#load(part)
      case 'composition':
        // Stacked areas need colours, so only the page shows them.
        return []
      case 'figures':
        return this.#figures(part.figures)
      case 'bars':
        return this.#bars(part.rows)
      case 'table':
        return this.#table(part)
      case 'texts':
        return this.#limited(
          part.texts.map(({ title, about, text }) => [
            fitWidth(`${title}: ${about}`, this.width),
            // Text of a transcript must not contain terminal escape sequences.
            ...(this.#details ? text.split('\n').map(plainText) : []),
          ]),
          this.#rows,
        )
      case 'lines':
        return this.#limited(
          part.lines.map(({ text, state }) => {
            const lines = wrap(text, this.width)
            return state === undefined
              ? lines
              : lines.map((line) => this.paint(state === 'good' ? 'green' : 'red', line))
          }),
          this.#details ? Infinity : SENTENCES_SHOWN,
        )
    }
  }

  #limited(entries: readonly (readonly string[])[], most: number): readonly string[] {
    const rest = entries.length - most
    const more = rest > 0 ? [fitWidth(`… and ${grouped(rest)} more (--details shows all)`, this.width)] : []
    return [...entries.slice(0, most).flat(), ...more]
  }

  #load({ sent, line, marks }: LoadPart): readonly string[] {
    const { width } = this
    const chart = columnChart(sent, {
      width,
      height: width < NARROW ? 6 : 10,
      line: line?.value,
      marks: marks.map((call) => call - 1),
    })
    const caption = [
      `${plural(sent.length, 'call')}, left to right`,
      ...(line === undefined ? [] : [`┄ ${line.name} ${short(line.value)}`]),
      ...(marks.length > 0 ? ['▲ compaction'] : []),
    ].join(' · ')
    return [
      ...chart.map((row) => (row.includes('┼') ? this.paint('cyan', row) : row)),
      ...wrap(caption, width).map((row) => this.paint('dim', row)),
    ]
  }

  #figures(figures: readonly (readonly [name: string, value: string])[]): readonly string[] {
    const names = Math.max(...figures.map(([name]) => name.length))
    return figures.map(([name, value]) => fitWidth(`${padEnd(name, names)}  ${value}`, this.width))
  }

  #bars(rows: readonly ReportBar[]): readonly string[] {
    const most = Math.max(1, ...rows.map(({ value }) => value))
    const names = Math.min(this.width >> 1, Math.max(...rows.map(({ name }) => displayWidth(name))))
    const labels = Math.max(...rows.map(({ label }) => displayWidth(label)))
    const room = this.width - names - labels - 4
    return rows.map(({ name, value, label }) => {
      const text = fitWidth(`${padEnd(fitWidth(name, names), names)}  ${label}`, this.width)
      if (room < 4) return text
      return `${padEnd(text, names + labels + 2)}  ${this.paint('cyan', bar(value / most, room))}`.trimEnd()
    })
  }

  /** The first column of figures and the last column identify a row; other columns are left out before them. */
  #table({ heads, rows }: ReportTable): readonly string[] {
    const columns = heads.map((head, index) => {
      const isLast = index === heads.length - 1
      return {
        head,
        align: typeof rows[0]?.[index] === 'number' ? ('right' as const) : ('left' as const),
        keeps: isLast ? ('end' as const) : undefined,
        optional: index > 0 && !isLast ? (true as const) : undefined,
      }
    })
    const cells = rows.map((row) => row.map((cell) => (typeof cell === 'number' ? grouped(cell) : cell)))
    const text = renderTable(columns, cells, { width: this.width, colour: false })
    const [head = '', ...lines] = text.trimEnd().split('\n')
    return [
      ...(rows.length === 0 ? [] : [this.paint('dim', fitWidth(head, this.width))]),
      ...this.#limited(
        lines.map((line) => [fitWidth(line, this.width)]),
        this.#rows,
      ),
    ]
  }
}

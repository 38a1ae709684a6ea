import type { WriteStream } from 'node:tty'
import { createInterface } from 'node:readline/promises'
import { displayWidth, fitEnd, fitWidth, padEnd, padStart, plainText, wrap } from './figures.ts'
import { isPlimsollError, PlimsollError } from '../../core/errors.ts'

/** Exit codes, stable for scripts. */
export const EXIT = {
  ok: 0,
  failure: 1,
  /** The command line or a file it names is wrong. */
  usage: 2,
  /** The command ran, and a check that it was asked for did not pass: `replay --check`, `store verify`, `doctor`, `config check`. */
  broken: 3,
  /** Stopped by Ctrl-C. */
  interrupted: 130,
} as const

/** The exit codes in words, for the reference. */
export const EXIT_MEANINGS: Readonly<Record<(typeof EXIT)[keyof typeof EXIT], string>> = {
  [EXIT.ok]: 'Done.',
  [EXIT.failure]: 'It could not be done; the message says why and what to do.',
  [EXIT.usage]: 'The command line, a setting or a file that it names is wrong.',
  [EXIT.broken]:
    'It was done, and a check that was asked for failed (`replay --check`, `simulate --check`, `store verify`, `doctor`).',
  [EXIT.interrupted]: 'Stopped by Ctrl-C.',
}

let isServing = false

/** From now on a closed output stops the printing, not the process: a proxy outlives the terminal or pipe that it was started in. */
export function keepServing(): void {
  isServing = true
}

/** Without this, writing to a closed pipe or terminal would end the process with an unhandled error. */
export function tolerateClosedOutput(): void {
  // `plimsoll inspect … | head` closes the pipe early; that is no error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (isServing) return
    if (error.code !== 'EPIPE') throw error
    process.exit(EXIT.ok)
  })
  process.stderr.on('error', () => undefined)
}

// Our own colours; control characters except line breaks and tabs; marks that change the text direction.
// oxlint-disable-next-line no-control-regex
const SPECIAL = /\u001b\[[0-9;]*m|[^\P{Cc}\n\t]|[\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu
const UNPRINTABLE = /[\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** Text that may contain names from outside: colours stay, but escape sequences that move the cursor or change the window title do not. */
export const harmless = (text: string): string => text.replace(SPECIAL, (found) => (found.length > 1 ? found : ''))

/** JSON in which every character that a terminal could interpret is escaped. */
export const harmlessJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(
    UNPRINTABLE,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** What an output stream supports. Pipes and files get no colours and no fixed width. */
export interface Screen {
  readonly isTerminal: boolean
  readonly colour: boolean
  /** A line can be overwritten. */
  readonly animates: boolean
  readonly width: number
}

const PIPE_WIDTH = 80

/**
 * Colours only on a terminal that is not dumb; NO_COLOR (any value) turns them off, FORCE_COLOR on (0 or false: off). If both are set, NO_COLOR
 * wins.
 */
export function screenOf(
  stream: Pick<WriteStream, 'isTTY' | 'columns'>,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Screen {
  const isTerminal = stream.isTTY
  const animates = isTerminal && env['TERM'] !== 'dumb'
  const forced = env['FORCE_COLOR']
  const wanted = forced === undefined ? animates : forced !== '0' && forced !== 'false'
  const colour = wanted && (env['NO_COLOR'] ?? '') === ''
  return { isTerminal, colour, animates, width: isTerminal && stream.columns > 0 ? stream.columns : PIPE_WIDTH }
}

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const

export type Style = keyof typeof CODES
export type Painter = (style: Style, text: string) => string

export const painterOf =
  ({ colour }: Pick<Screen, 'colour'>): Painter =>
  (style, text) =>
    colour && text !== '' ? `\u001B[${CODES[style]}m${text}\u001B[0m` : text

interface Column {
  readonly head: string
  /** @default 'left' */
  readonly align?: 'left' | 'right'
  /** This column gets narrower on a narrow terminal and keeps its end (paths) or its beginning. At most one column has this. */
  readonly keeps?: 'end' | 'start'
  /** Left out, the last such column first, when the narrowing column would become unreadably short. */
  readonly optional?: true
}

const GAP = 2
const LEAST = 8
/** The least width at which names can be told apart. */
const READABLE = 24

/** Rows with headings. Text from outside is made harmless; no line is wider than the screen where that is possible. */
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
  const giving = columns.findIndex(({ keeps }) => keeps !== undefined)
  if (giving >= 0 && total > screen.width)
    widths[giving] = Math.max(LEAST, (widths[giving] ?? 0) - (total - screen.width))
  const line = (row: readonly string[]): string =>
    columns
      .map(({ align = 'left', keeps }, index) => {
        const width = widths[index] ?? 0
        const text = keeps === 'end' ? fitEnd(row[index] ?? '', width) : fitWidth(row[index] ?? '', width)
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
    columns[index]!.keeps === undefined ? widths[index]! : Math.min(READABLE, widths[index]!)
  while (widthOf(shown.map(least)) > width) {
    const optional = shown.findLast((index) => columns[index]!.optional === true)
    if (optional === undefined) break
    shown = shown.filter((index) => index !== optional)
  }
  return shown
}

export function print(asJson: boolean | undefined, value: unknown, text: () => string): void {
  process.stdout.write(asJson === true ? `${harmlessJson(value, 2)}\n` : ended(harmless(text())))
}

/** Prints a list as JSON or as a table; `none` is printed for an empty list. */
export function printList<T>(
  asJson: boolean | undefined,
  list: readonly T[],
  none: string,
  columns: readonly Column[],
  rowOf: (one: T) => readonly string[],
): void {
  print(asJson, list, () => (list.length === 0 ? none : printTable(columns, list.map(rowOf))))
}

/** Fitted to a terminal. Pipes get every cell in full, because `grep` and `cut` cannot use cut text. */
export function printTable(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const screen = screenOf(process.stdout)
  return renderTable(columns, rows, screen.isTerminal ? screen : { ...screen, width: Infinity })
}

const ended = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`)

export const when = (at: number): string => new Date(at).toISOString().slice(0, 16).replace('T', ' ')

/** One sentence on standard error: the problem and, if known, what to do about it. */
export function printError(problem: unknown): void {
  process.stderr.write(harmless(`plimsoll: ${sentenceOf(problem)}\n`))
}

export function sentenceOf(problem: unknown): string {
  if (typeof problem === 'string') return problem
  if (isPlimsollError(problem)) return problem.message
  const { message, stack } = problem instanceof Error ? problem : new Error(String(problem))
  if ((process.env['PLIMSOLL_DEBUG'] ?? '') !== '') return stack ?? message
  return `${message} (PLIMSOLL_DEBUG=1 prints the stack.)`
}

/** Breaks long sentences at spaces for a terminal. Lines that fit, and output to pipes, stay unchanged. */
export function wrapped(text: string, { isTerminal, width }: Pick<Screen, 'isTerminal' | 'width'>): string {
  if (!isTerminal) return text
  return text
    .split('\n')
    .flatMap((line) => {
      if (displayWidth(line) <= width) return [line]
      const indent = /^ */.exec(line)![0].slice(0, Math.floor(width / 2))
      return wrap(line.trimStart(), width - indent.length).map((part) => indent + part)
    })
    .join('\n')
}

/** One line that is overwritten, on a terminal only. */
interface Progress {
  show(done: number, total: number, what: string): void
  /** Erases the line, so that output starts on an empty one. */
  clear(): void
}

const BAR = 24
// Drawing more often would not be visible and takes time.
const REDRAW_MS = 50
const ERASE_LINE = '\r\u001B[2K'

export function progressOn(
  stream: { write(text: string): unknown },
  screen: Screen,
  now = () => performance.now(),
): Progress {
  let drawnAt = -Infinity
  let drawn = false
  return {
    show(done, total, what) {
      if (!screen.animates || total === 0 || now() - drawnAt < REDRAW_MS) return
      drawnAt = now()
      drawn = true
      const filled = Math.min(BAR, Math.floor((done / total) * BAR))
      const percent = String(Math.floor((100 * done) / total)).padStart(3)
      const line = `${'█'.repeat(filled)}${'░'.repeat(BAR - filled)} ${percent} % ${what}`
      stream.write(`${ERASE_LINE}${fitWidth(line, screen.width - 1)}`)
    },
    clear() {
      if (drawn) stream.write(ERASE_LINE)
      drawn = false
    },
  }
}

/** Asks before something is deleted. Without a terminal there is no answer, so `--yes` is required. */
export async function confirmed(question: string, yes: boolean | undefined): Promise<void> {
  if (yes === true) return
  if (!process.stdin.isTTY)
    throw new PlimsollError('bad-input', 'This deletes data.', { advice: 'Use --yes to confirm it.' })
  const asking = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const answer = await asking.question(`${question} [y/N] `)
    if (/^y(es)?$/i.test(answer.trim())) return
  } finally {
    asking.close()
  }
  throw new PlimsollError('closed', 'Nothing was deleted.')
}

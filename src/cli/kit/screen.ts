import type { WriteStream } from 'node:tty'

/** What a stream can show. Pipes and files get neither colours nor a width of their own. */
export interface Screen {
  readonly isTerminal: boolean
  readonly colour: boolean
  /** A line can be drawn over. */
  readonly animates: boolean
  /** Columns. */
  readonly width: number
}

const PIPE_WIDTH = 80

/** Colours only on a terminal that is not dumb; NO_COLOR (any value) turns them off, FORCE_COLOR on (0 or false: off). The first has the last word. */
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

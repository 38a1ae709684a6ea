/** How much of the terminal's art may be used. */
export interface Palette {
  readonly colour: boolean
}

const CODES = { green: 32, yellow: 33, red: 31, dim: 2, bold: 1, cyan: 36 } as const

export const paint = ({ colour }: Palette, style: keyof typeof CODES, text: string): string =>
  colour ? `\u001B[${CODES[style]}m${text}\u001B[0m` : text

export const grouped = (value: number): string => Math.round(value).toLocaleString('en-US')

/** The load of one request against its limit: a full bar touches the line. */
export function loadBar(palette: Palette, load: number, limit: number, width = 30): string {
  const share = Math.min(1, load / limit)
  const filled = Math.round(share * width)
  const style = share > 0.95 ? 'red' : share > 0.8 ? 'yellow' : 'green'
  return `${paint(palette, style, '█'.repeat(filled))}${paint(palette, 'dim', '·'.repeat(width - filled))}${paint(palette, 'cyan', '┃')}`
}

const LEVELS = ' ▁▂▃▄▅▆▇█'

/** All loads as one chart under the load line. */
export function loadChart(palette: Palette, loads: readonly number[], limit: number, rows = 6): string {
  const line = paint(palette, 'cyan', '─'.repeat(loads.length))
  const drawn = Array.from({ length: rows }, (_, row) => {
    const floor = rows - 1 - row
    const cells = loads.map((load) => {
      const level = Math.round(((load / limit) * rows - floor) * 8)
      return LEVELS[Math.max(0, Math.min(8, level))]
    })
    return `  ${paint(palette, 'green', cells.join(''))}`
  })
  return [`  ${line} limit ${grouped(limit)}`, ...drawn].join('\n')
}

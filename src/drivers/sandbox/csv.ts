const SEPARATORS = [',', '\t', ';', '|']
const SAMPLE_LINES = 20
const SAMPLE_CHARACTERS = 64_000

/** The separator when the first lines all have the same number of cells, two or more; undefined when this is no table. */
export function separatorOf(text: string): string | undefined {
  const sample = text.slice(0, SAMPLE_CHARACTERS)
  for (const separator of SEPARATORS) {
    const rows = parseCsv(sample, separator, SAMPLE_LINES + 1)
    // The last row of a sample may be cut.
    const whole = rows.length > SAMPLE_LINES || sample.length < text.length ? rows.slice(0, -1) : rows
    const [head = []] = whole
    if (head.length < 2 || whole.length < 2 || !head.every(isColumnName)) continue
    if (whole.every((row) => row.length === head.length)) return separator
  }
  return undefined
}

/** Times and numbers in the first line are data: lines of a log may all have the same number of commas. */
const isColumnName = (cell: string): boolean => cell.length <= 100 && !/\d\d:\d\d|^[\d.+-]+$/.test(cell)

/** RFC 4180, with any separator and line end; blank lines are left out. */
export function parseCsv(text: string, separator: string, maxRows = Infinity): string[][] {
  const rows: string[][] = []
  let row: string[] = []
  let at = 0
  while (at < text.length && rows.length < maxRows) {
    const cell = text[at] === '"' ? quotedCell(text, at, separator) : plainCell(text, at, separator)
    row.push(cell.value)
    at = cell.end
    if (text[at] === separator) {
      at++
      if (at < text.length) continue
      row.push('')
    }
    if (text[at] === '\r') at++
    if (text[at] === '\n') at++
    if (row.length > 1 || row[0] !== '') rows.push(row)
    row = []
  }
  return rows
}

function plainCell(text: string, start: number, separator: string): { value: string; end: number } {
  let end = start
  while (end < text.length && text[end] !== separator && text[end] !== '\n') end++
  if (text[end] !== separator && text[end - 1] === '\r' && end > start) end--
  return { value: text.slice(start, end), end }
}

function quotedCell(text: string, start: number, separator: string): { value: string; end: number } {
  let end = start + 1
  for (;;) {
    const quote = text.indexOf('"', end)
    if (quote === -1) return { value: text.slice(start + 1).replaceAll('""', '"'), end: text.length }
    if (text[quote + 1] !== '"') {
      // Text after the closing quote belongs to the cell: `"a"b` is broken, not two cells.
      let after = quote + 1
      while (after < text.length && text[after] !== separator && text[after] !== '\r' && text[after] !== '\n') after++
      return { value: text.slice(start + 1, quote).replaceAll('""', '"') + text.slice(quote + 1, after), end: after }
    }
    end = quote + 2
  }
}

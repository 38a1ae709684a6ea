/** Pieces of generated pages. */

/** What stands at the top of each, so that nobody edits it by hand. */
export const page = (title: string, source: string, ...parts: readonly string[]): string =>
  [`# ${title}`, `<!-- Written by \`npm run docs:generate\` from ${source}. Do not edit. -->`, ...parts].join('\n\n') +
  '\n'

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n')
}

const cell = (text: string): string => text.replaceAll(/\s*\n\s*/g, ' ').replaceAll('|', '\\|')

export const code = (text: string): string => `\`${text}\``

/** A sentence begins with a capital and ends with a full stop. */
export function sentence(text: string): string {
  const [first = '', ...rest] = text.trim()
  // An address keeps its scheme as it is written.
  const whole = (/^[a-z0-9]+:\S/.test(text.trim()) ? first : first.toUpperCase()) + rest.join('')
  return /[.!?…]$/.test(whole) || whole === '' ? whole : `${whole}.`
}

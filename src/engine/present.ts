import type { PresentOptions } from './deps.ts'

/** Shows the beginning and the end of a text under a token budget, whole lines where there are lines. */
export function presentText(text: string, options: PresentOptions): string {
  const { budgetTokens, countTokens, handle, readers } = options
  const lines = text.split('\n')
  const read = readers.get('artifact_read')
  const how = read === undefined ? '' : ` Read more with ${read}.`
  const marker = (shown: string): string =>
    `[... ${shown} omitted of ${text.length.toLocaleString('en')} characters in ${lines.length.toLocaleString('en')} lines; all of it is stored as ${handle}.${how} ...]`
  const room = Math.max(0, budgetTokens - countTokens(marker('9,999,999 characters')))
  // Characters per token of this very text, so that one guess nearly always fits.
  const perToken = text.length / Math.max(1, countTokens(text))
  let characters = Math.floor(room * perToken)
  for (;;) {
    const head = cutAtLine(text.slice(0, Math.floor(characters * 0.55)), 'end')
    const tail = cutAtLine(text.slice(text.length - Math.floor(characters * 0.45)), 'start')
    const left = text.length - head.length - tail.length
    const shown = `${head}\n${marker(`${left.toLocaleString('en')} characters`)}\n${tail}`
    if (countTokens(shown) <= budgetTokens || characters === 0)
      return characters === 0 ? marker(`${text.length.toLocaleString('en')} characters`) : shown
    characters = Math.floor(characters * 0.85)
  }
}

/** Gives up at most half of a piece to end at a line, and never splits a character. */
function cutAtLine(piece: string, side: 'start' | 'end'): string {
  if (side === 'end') {
    const at = piece.lastIndexOf('\n')
    return whole(at > piece.length / 2 ? piece.slice(0, at) : piece)
  }
  const at = piece.indexOf('\n')
  return whole(at >= 0 && at < piece.length / 2 ? piece.slice(at + 1) : piece)
}

function whole(piece: string): string {
  const start = /^[\uDC00-\uDFFF]/.test(piece) ? 1 : 0
  const end = /[\uD800-\uDBFF]$/.test(piece) ? piece.length - 1 : piece.length
  return piece.slice(start, end)
}

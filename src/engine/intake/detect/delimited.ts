import type { Detector } from './sample.ts'

const CANDIDATES = [
  { delimiter: ',', kind: 'csv' },
  { delimiter: '\t', kind: 'tsv' },
  { delimiter: ';', kind: 'csv' },
] as const

/** Rows of one width. Quoted fields may hold delimiters and line breaks, so widths are counted outside quotes. */
export const detectDelimited: Detector = ({ text, from, totalLines }) => {
  if (totalLines < 3) return undefined
  for (const { delimiter, kind } of CANDIDATES) {
    const widths = widthsOf(text.slice(from, from + 60_000), delimiter, from + 60_000 < text.length)
    if (widths.length < 3) continue
    const width = widths[0]!
    const same = widths.filter((each) => each === width).length / widths.length
    if (width < (delimiter === ',' ? 3 : 2) && !(width === 2 && same === 1 && widths.length > 20)) continue
    if (same >= 0.95 && looksLikeHeader(text.slice(from, from + 4_000), delimiter)) {
      return { kind, format: delimiter === ';' ? 'semicolon' : 'header', confidence: same }
    }
    if (same >= 0.98 && width >= 4)
      return { kind, format: delimiter === ';' ? 'semicolon' : 'no-header', confidence: same * 0.9 }
  }
  return undefined
}

function widthsOf(text: string, delimiter: string, cut: boolean): number[] {
  const code = delimiter.charCodeAt(0)
  const widths: number[] = []
  let width = 1
  let quoted = false
  let empty = true
  for (let i = 0; i < text.length && widths.length < 300; i++) {
    const at = text.charCodeAt(i)
    if (at === 34) quoted = !quoted
    else if (quoted) continue
    else if (at === code) width++
    else if (at === 10) {
      if (!empty) widths.push(width)
      width = 1
      empty = true
      continue
    }
    if (at > 32) empty = false
  }
  if (!cut && !empty) widths.push(width)
  return widths
}

/** Names, not numbers, all different, none of them a sentence. */
function looksLikeHeader(text: string, delimiter: string): boolean {
  const line = text.slice(0, Math.max(0, text.indexOf('\n'))).trim()
  const names = line.split(delimiter).map((name) => name.replace(/^"|"$/g, '').trim())
  if (names.some((name) => name === '' || name.length > 60 || /^-?[\d.]+$/.test(name) || /[{}<>]/.test(name)))
    return false
  return (
    new Set(names).size === names.length &&
    names.every((name) => /^[\p{L}_#$@%]/u.test(name) && name.split(' ').length <= 6)
  )
}

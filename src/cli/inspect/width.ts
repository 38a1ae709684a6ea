/** Columns that text takes in a terminal. East-Asian wide characters and emoji take two, combining marks none. */
import { graphemes } from '../../util/graphemes.ts'

// Wide and fullwidth blocks of Unicode's East Asian Width, and emoji; in order.
const WIDE: readonly (readonly [from: number, to: number])[] = [
  [0x1100, 0x115f],
  [0x231a, 0x231b],
  [0x23e9, 0x23ec],
  [0x25fd, 0x25fe],
  [0x2614, 0x2615],
  [0x2705, 0x2705],
  [0x274c, 0x274e],
  [0x2753, 0x2757],
  [0x2e80, 0x303e],
  [0x3041, 0x33ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x16fe0, 0x18aff],
  [0x1b000, 0x1b2ff],
  [0x1f004, 0x1f004],
  [0x1f0cf, 0x1f0cf],
  [0x1f18e, 0x1f19a],
  [0x1f200, 0x1f320],
  [0x1f32d, 0x1f64f],
  [0x1f680, 0x1f6ff],
  [0x1f7e0, 0x1f7eb],
  [0x1f900, 0x1faff],
  [0x20000, 0x3fffd],
]

export function displayWidth(text: string): number {
  // Nearly everything is printable ASCII.
  if (/^[\x20-\x7e]*$/.test(text)) return text.length
  let width = 0
  for (const { segment } of graphemes(text)) width += graphemeWidth(segment)
  return width
}

/** Cuts text to a number of columns, with an ellipsis when something is lost. */
export function fitWidth(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text
  if (columns <= 0) return ''
  let kept = ''
  let width = 0
  for (const { segment } of graphemes(text)) {
    const next = graphemeWidth(segment)
    if (width + next > columns - 1) break
    kept += segment
    width += next
  }
  return `${kept}…`
}

/** The end of a path says more than its beginning. */
export function fitEnd(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text
  if (columns <= 0) return ''
  const segments = Array.from(graphemes(text), ({ segment }) => segment)
  let kept = ''
  let width = 0
  for (let i = segments.length - 1; i >= 0; i--) {
    const next = graphemeWidth(segments[i] as string)
    if (width + next > columns - 1) break
    kept = (segments[i] as string) + kept
    width += next
  }
  return `…${kept}`
}

export const padEnd = (text: string, columns: number): string =>
  text + ' '.repeat(Math.max(0, columns - displayWidth(text)))
export const padStart = (text: string, columns: number): string =>
  ' '.repeat(Math.max(0, columns - displayWidth(text))) + text

const ESCAPE = String.fromCharCode(27)
const ESCAPE_SEQUENCE = new RegExp(`${ESCAPE}\\[[0-9;?]*[ -/]*[@-~]`, 'g')
// Control characters, and the marks that turn the direction of what follows.
const CONTROL = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** Text from transcripts may hold escape sequences; a report must not move the reader's cursor. */
export const plainText = (text: string): string => text.replace(ESCAPE_SEQUENCE, '').replace(CONTROL, ' ')

function graphemeWidth(grapheme: string): number {
  const code = grapheme.codePointAt(0) ?? 0
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return 0
  if (/^[\p{Mn}\p{Me}\p{Cf}]/u.test(grapheme)) return 0
  if (grapheme.includes('\ufe0f')) return 2
  return isWide(code) ? 2 : 1
}

function isWide(code: number): boolean {
  if (code < 0x1100) return false
  let low = 0
  let high = WIDE.length - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    const [from, to] = WIDE[middle] as readonly [number, number]
    if (code < from) high = middle - 1
    else if (code > to) low = middle + 1
    else return true
  }
  return false
}

/** What `JSON.stringify` writes behind a backslash, and control characters that it has no shorter form for. */
const SHORT = '"\\bfnrt'
const CONTROL = /^00(?:0[0-7bef]|1[0-9a-f])$/

/** Characters for each escape, at least: where there are more, writing the text again takes no longer. */
const FAR_APART = 16

/**
 * Whether a string literal of JSON is known to stand as `JSON.stringify` writes it, as those of most clients do: it need not be written
 * again then. False may also mean that asking would cost as much.
 */
export function isAsStringified(literal: string): boolean {
  let escapes = 0
  let at = literal.indexOf('\\')
  while (at >= 0) {
    const letter = literal[at + 1]!
    if (SHORT.includes(letter)) at = literal.indexOf('\\', at + 2)
    else if (letter === 'u' && CONTROL.test(literal.slice(at + 2, at + 6))) at = literal.indexOf('\\', at + 6)
    else return false
    if (at >= 0 && ++escapes > 10 + at / FAR_APART) return false
  }
  return true
}

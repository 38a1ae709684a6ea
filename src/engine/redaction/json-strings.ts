import type { Redactor } from './redactor.ts'

/** JSON in a string in JSON: a tool's arguments that hold a request that holds a file. Deeper than this nobody reads either. */
const MOST_NESTED = 5

/**
 * Redacts the strings of JSON as what they mean: behind a `\n` that stands as two characters a token looks like the end of a longer word,
 * and an escaped letter hides it altogether. Works on any text; what is no JSON string is left for `redact` itself.
 */
export function redactJsonStrings(text: string, redact: Redactor, depth = 0): string {
  if (depth >= MOST_NESTED || !text.includes('\\')) return text
  const out: string[] = []
  let done = 0
  for (let open = text.indexOf('"'); open >= 0; open = text.indexOf('"', done)) {
    const { end, hasEscapes } = stringFrom(text, open)
    if (end < 0) break
    const clean = hasEscapes ? redactLiteral(text.slice(open, end), redact, depth) : undefined
    out.push(text.slice(done, open), clean ?? text.slice(open, end))
    done = end
  }
  return out.length === 0 ? text : out.join('') + text.slice(done)
}

/** Where a string that begins here ends. By jumps, since strings may have megabytes. */
function stringFrom(text: string, open: number): { readonly end: number; readonly hasEscapes: boolean } {
  const close = text.indexOf('"', open + 1)
  let escape = text.indexOf('\\', open + 1)
  if (close < 0 || escape < 0 || escape > close) return { end: close < 0 ? -1 : close + 1, hasEscapes: false }
  let end = close
  while (escape >= 0 && escape < end) {
    if (escape + 1 === end) end = text.indexOf('"', escape + 2)
    if (end < 0) return { end: -1, hasEscapes: true }
    escape = text.indexOf('\\', escape + 2)
  }
  return { end: end + 1, hasEscapes: true }
}

function redactLiteral(literal: string, redact: Redactor, depth: number): string | undefined {
  let value: unknown
  try {
    value = JSON.parse(literal)
  } catch {
    return undefined
  }
  if (typeof value !== 'string') return undefined
  const clean = redact(redactJsonStrings(value, redact, depth + 1))
  return clean === value ? undefined : JSON.stringify(clean)
}

import { byteLength, cutHeadBytes, cutTailBytes, grouped } from '../text.ts'

/** Raw JSON strings, quotes included, cut without breaking an escape or a surrogate pair. */

const BASE64 = /^[A-Za-z0-9+/_-]{200}/

/** Cuts a raw JSON string (quotes included) to about `units` of content; no escape and no pair is split. */
export function shortString(raw: string, units: number): { readonly text: string } {
  const content = raw.length - 2
  // The mark takes room of its own: cutting less than that saves nothing.
  if (content <= units + 18) return { text: raw }
  if (BASE64.test(raw.slice(1, 300))) return { text: `"<${grouped(content)} chars of base64>"` }
  // The end of a message often holds the reason: a third of the room is for it.
  const tailUnits = units >= 60 ? Math.floor(units / 3) : 0
  const head = raw.slice(1, safeCut(raw, 1 + units - tailUnits))
  const tailStart = tailUnits === 0 ? raw.length - 1 : safeCut(raw, raw.length - 1 - tailUnits)
  const tail = raw.slice(tailStart, raw.length - 1)
  return { text: `"${head}… [+${grouped(tailStart - 1 - head.length)} chars]${tail === '' ? '' : ` …${tail}`}"` }
}

/** The nearest position at or before `at` that is inside no escape sequence and no surrogate pair. */
function safeCut(raw: string, at: number): number {
  let cut = at
  const near = Math.max(1, cut - 5)
  const unicode = near + raw.slice(near, cut + 1).lastIndexOf('\\u')
  if (unicode >= near && !isEscaped(raw, unicode)) cut = unicode
  // A pair written as two escapes: never end behind its first half.
  while (/^\\u[dD][89abAB]/.test(raw.slice(cut - 6, cut)) && !isEscaped(raw, cut - 6)) cut -= 6
  if (isEscaped(raw, cut)) cut--
  const before = raw.charCodeAt(cut - 1)
  if (before >= 0xd800 && before <= 0xdbff) cut--
  return Math.max(1, cut)
}

/** True when the character at `at` follows an odd number of backslashes. */
function isEscaped(raw: string, at: number): boolean {
  let slashes = 0
  while (raw.charCodeAt(at - 1 - slashes) === 92) slashes++
  return slashes % 2 === 1
}

const ESCAPED_SURROGATE =
  /(\\\\)|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}/g

/** Half a pair as an escape is valid JSON and still refused by strict parsers. */
export function repairSurrogates(raw: string): string {
  if (!/\\u[dD]/.test(raw)) return raw
  return raw.replace(ESCAPED_SURROGATE, (match, escaped?: string) =>
    escaped !== undefined || match.length === 12 ? match : '\\ufffd',
  )
}

/** A raw JSON string (quotes included) as its two halves in at most about `bytes` of content, with a marker of your own between. */
export function shortJsonString(raw: string, bytes: number, marker: (omittedBytes: number) => string): string {
  const content = raw.slice(1, -1)
  const half = Math.floor(bytes / 2)
  const head = raw.slice(1, safeCut(raw, 1 + cutHeadBytes(content, half).length))
  const tail = raw.slice(safeCutAfter(raw, raw.length - 1 - cutTailBytes(content, half).length), raw.length - 1)
  return repairSurrogates(`"${head}${marker(byteLength(content) - byteLength(head) - byteLength(tail))}${tail}"`)
}

/** The nearest safe position at or after `at`. */
function safeCutAfter(raw: string, at: number): number {
  for (let cut = at; cut < raw.length - 1; cut++) if (safeCut(raw, cut) === cut) return cut
  return raw.length - 1
}

/** Small text tools that never split a character. All are linear and look at no more than they return, where they can. */

const isHigh = (code: number): boolean => code >= 0xd800 && code <= 0xdbff
const isLow = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff

/** At most `units` UTF-16 units from the start, never half of a surrogate pair. */
export function cutHead(text: string, units: number): string {
  if (units >= text.length) return text
  if (units <= 0) return ''
  return text.slice(0, boundary(text, units))
}

/** At most `units` UTF-16 units from the end, never half of a surrogate pair. */
export function cutTail(text: string, units: number): string {
  if (units >= text.length) return text
  if (units <= 0) return ''
  const at = text.length - units
  return text.slice(isLow(text.charCodeAt(at)) && isHigh(text.charCodeAt(at - 1)) ? at + 1 : at)
}

/** The nearest cut position at or before `at` that splits no pair. */
function boundary(text: string, at: number): number {
  return at > 0 && isHigh(text.charCodeAt(at - 1)) && isLow(text.charCodeAt(at)) ? at - 1 : at
}

export const byteLength = (text: string): number => Buffer.byteLength(text, 'utf8')

/** At most `bytes` UTF-8 bytes from one end, whole characters only. */
export const cutHeadBytes = (text: string, bytes: number): string => within(text, bytes, cutHead)
export const cutTailBytes = (text: string, bytes: number): string => within(text, bytes, cutTail)

function within(text: string, bytes: number, cut: typeof cutHead): string {
  // No character takes less than a byte per unit, so only this much can matter.
  let part = cut(text, bytes)
  for (let over = byteLength(part) - bytes; over > 0; over = byteLength(part) - bytes) {
    // Every unit is at most three bytes: this many units have to go at least.
    part = cut(part, part.length - Math.max(1, Math.floor(over / 3)))
  }
  return part
}

/** 125432 → "125,432" */
export const grouped = (value: number): string => Math.trunc(value).toLocaleString('en-US')

/** "1 line", "2,000 lines" */
export const counted = (value: number, unit: string): string => `${grouped(value)} ${unit}${value === 1 ? '' : 's'}`

/** Lines as an editor counts them: a final newline ends the last line and starts none. */
export function countLines(text: string, from = 0): number {
  if (from >= text.length) return 0
  let lines = 0
  let at = text.indexOf('\n', from)
  while (at >= 0) {
    lines++
    at = text.indexOf('\n', at + 1)
  }
  return text.endsWith('\n') ? lines : lines + 1
}

/** Calls `visit` for each line with its span, without the line break. Stops when `visit` returns false. */
export function eachLine(
  text: string,
  visit: (start: number, end: number, index: number) => boolean | void,
  from = 0,
): void {
  let start = from
  for (let index = 0; start < text.length; index++) {
    let end = text.indexOf('\n', start)
    if (end < 0) end = text.length
    const last = end > start && text.charCodeAt(end - 1) === 13 ? end - 1 : end
    if (visit(start, last, index) === false) return
    start = end + 1
  }
}

/** Start of the line that ends at `end`; never before `from`. */
export function lineStart(text: string, end: number, from = 0): number {
  // lastIndexOf takes a negative position for 0, which would find the break that ends an empty first line.
  return end <= from ? from : Math.max(from, text.lastIndexOf('\n', end - 1) + 1)
}

/** Four significant digits and no exponent for everyday sizes: numbers in a view are for reading. */
export function shortNumber(value: number): string {
  if (!Number.isFinite(value)) return String(value)
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return String(value)
  const size = Math.abs(value)
  if (size !== 0 && (size < 1e-4 || size >= 1e15)) return value.toExponential(3)
  return size >= 1e6 ? String(Math.round(value)) : String(Number(value.toPrecision(size >= 1_000 ? 7 : 4)))
}

/**
 * Every marker that a view or a guard writes. They live in one place because the same list tells `neutralise` what tool
 * text may not imitate.
 */

/** Our own notices begin with this; in JSON the notice stands under `NOTICE_KEY`. */
export const NOTICE_OPEN = '[plimsoll: '
export const NOTICE_KEY = '_plimsoll'

export const omittedLines = (omitted: number, total: number): string =>
  `[... omitted ${grouped(omitted)} of ${grouped(total)} lines ...]`
export const omittedChars = (omitted: number, total: number): string =>
  `[... omitted ${grouped(omitted)} of ${grouped(total)} chars ...]`

/** AutoSRE's safety net for strings. */
export const SRE_TRUNCATED = '[TRUNCATED BY SRE AGENT SAFETY GUARD]'

/** Cyber-AutoAgent's header and footer around an externalised output. */
export const cyberHeader = (total: number, preview: number, path: string): string =>
  `[Tool output: ${grouped(total)} chars total | Preview: ${grouped(preview)} chars below | Full: ${path}]`
export const cyberFooter = (path: string): string => `[Complete output saved to: ${path}]`
/** Cyber-AutoAgent's mark on compressed text. */
export const cyberTruncated = (chars: number): string => `... [truncated from ${chars} chars]`

/** ai-agent's marker inside a 50/50 cut. */
export const aiAgentTruncated = (omitted: number, unit: 'bytes' | 'chars' | 'tokens'): string =>
  `[···TRUNCATED ${omitted} ${unit}···]`

export const moreItems = (count: number): string => `… ${counted(count, 'more item')}`
export const moreKeys = (count: number): string => counted(count, 'more key')

/** What tool text may not contain as it is. Each match loses the character that makes it work. */
export const LOOKALIKES: readonly RegExp[] = [
  /\[(?=plimsoll\b)/gi,
  /\[(?=\.\.\. omitted \d)/g,
  /\[(?=TRUNCATED BY SRE AGENT)/g,
  /\[(?=Tool output: [\d,]+ chars total)/g,
  /\[(?=Complete output saved to:)/g,
  /\[(?=Artifact head - \d)/g,
  /\[(?=truncated from [\d,]+ chars\])/g,
  /\[(?=···TRUNCATED )/g,
]

export interface HeadTailOptions {
  /** @default 128 */
  readonly headLines?: number
  /** @default 128 */
  readonly tailLines?: number
  /** Of the result, marker included. @default 10240 */
  readonly maxBytes?: number
  /** Of the result, marker included; needs `countTokens`. */
  readonly maxTokens?: number
  readonly countTokens?: (text: string) => number
}

export interface HeadTail {
  readonly text: string
  readonly truncated: boolean
  readonly omittedLines: number
  readonly totalLines: number
}

/**
 * First and last lines within limits of lines, bytes and tokens at once. Lines go from the middle outwards, so the first and
 * the last one stay longest; when not even those fit, each is cut, the last one at its start.
 */
export function headTail(text: string, options: HeadTailOptions = {}): HeadTail {
  const { headLines = 128, tailLines = 128, maxBytes = 10_240, maxTokens = Infinity, countTokens } = options
  const totalLines = countLines(text)
  const fits = (candidate: string): boolean =>
    // Length first: it needs no pass over a long text.
    candidate.length <= maxBytes &&
    byteLength(candidate) <= maxBytes &&
    (countTokens === undefined || countTokens(candidate) <= maxTokens)
  if (totalLines <= headLines + tailLines && fits(text)) return { text, truncated: false, omittedLines: 0, totalLines }

  const lines = text.replace(/\n$/, '').split('\n')
  const share = headLines / (headLines + tailLines)
  let best: HeadTail | undefined
  // The more lines, the longer the text: halving finds the most that fit.
  let [few, many] = [2, Math.min(headLines + tailLines, totalLines - 1)]
  while (few <= many) {
    const keep = Math.ceil((few + many) / 2)
    const heads = Math.max(1, Math.min(headLines, Math.round(keep * share)))
    const tails = Math.max(1, Math.min(tailLines, keep - heads))
    const omitted = totalLines - heads - tails
    const head = lines.slice(0, heads).join('\n').replace(/\r$/, '')
    const candidate = `${head}\n${omittedLines(omitted, totalLines)}\n${lines.slice(-tails).join('\n')}`
    if (omitted > 0 && fits(candidate)) {
      best = { text: candidate, truncated: true, omittedLines: omitted, totalLines }
      few = keep + 1
    } else many = keep - 1
  }
  return best ?? byCharacters(text, totalLines, maxBytes, fits)
}

/** One line, or lines too long to show whole: the two ends by characters. */
function byCharacters(text: string, totalLines: number, maxBytes: number, fits: (text: string) => boolean): HeadTail {
  for (let room = maxBytes; room >= 1; room = Math.floor(room * 0.85)) {
    const marker = omittedChars(text.length, text.length)
    const half = Math.floor((room - marker.length - 2) / 2)
    if (half < 1) break
    const head = cutHeadBytes(text, half)
    const tail = cutTailBytes(text, half)
    const candidate = `${head}\n${omittedChars(text.length - head.length - tail.length, text.length)}\n${tail}`
    if (head.length + tail.length < text.length && fits(candidate)) {
      return { text: candidate, truncated: true, omittedLines: 0, totalLines }
    }
  }
  const bare = omittedChars(text.length, text.length)
  return { text: fits(bare) ? bare : '', truncated: true, omittedLines: totalLines, totalLines }
}

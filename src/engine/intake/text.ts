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
export function boundary(text: string, at: number): number {
  return at > 0 && isHigh(text.charCodeAt(at - 1)) && isLow(text.charCodeAt(at)) ? at - 1 : at
}

export const byteLength = (text: string): number => Buffer.byteLength(text, 'utf8')

/** At most `bytes` UTF-8 bytes from the start, whole characters only. */
export function cutHeadBytes(text: string, bytes: number): string {
  if (bytes <= 0) return ''
  // No character takes less than a byte per unit, so only this much can matter.
  let part = cutHead(text, bytes)
  for (let over = byteLength(part) - bytes; over > 0; over = byteLength(part) - bytes) {
    // Every unit is at most three bytes: this many units have to go at least.
    part = cutHead(part, part.length - Math.max(1, Math.floor(over / 3)))
  }
  return part
}

export function cutTailBytes(text: string, bytes: number): string {
  if (bytes <= 0) return ''
  let part = cutTail(text, bytes)
  for (let over = byteLength(part) - bytes; over > 0; over = byteLength(part) - bytes) {
    part = cutTail(part, part.length - Math.max(1, Math.floor(over / 3)))
  }
  return part
}

/** 125432 → "125,432" */
export function grouped(value: number): string {
  const digits = String(Math.trunc(Math.abs(value)))
  let out = ''
  for (let i = 0; i < digits.length; i++) {
    if (i > 0 && (digits.length - i) % 3 === 0) out += ','
    out += digits[i]
  }
  return value < 0 ? `-${out}` : out
}

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

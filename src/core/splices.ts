import type { Splice } from './codec.ts'

/**
 * Applies splices, which must be in order and must not overlap. The text is built by concatenation: V8 copies the parts only when the text is read,
 * which a sender of bytes never does.
 */
export function applySplices(text: string, splices: readonly Splice[]): string {
  let out = ''
  let from = 0
  for (const { start, end, text: own } of splices) {
    out += text.slice(from, start) + own
    from = end
  }
  return out + text.slice(from)
}

/** The same on the bytes of a text in plain ASCII: one copy instead of two and a conversion. */
export function spliceBytes(bytes: Uint8Array, splices: readonly Splice[]): Buffer {
  const grown = splices.reduce((sum, { start, end, text }) => sum + Buffer.byteLength(text) - (end - start), 0)
  const out = Buffer.allocUnsafe(bytes.length + grown)
  let from = 0
  let to = 0
  const copy = (end: number): void => {
    out.set(bytes.subarray(from, end), to)
    to += end - from
  }
  for (const { start, end, text } of splices) {
    copy(start)
    to += out.write(text, to, 'utf8')
    from = end
  }
  copy(bytes.length)
  return out
}

import type { Fields } from '../../../core/values.ts'
import type { Segment } from '../types.ts'

// Few enough pieces that a long answer does not become a hundred thousand events, small enough that a short one has some.
const MAX_PIECES = 64
const MIN_PIECE = 12

/** Cuts a text into the deltas of a stream, between characters. */
export function pieces(text: string): string[] {
  const size = Math.max(MIN_PIECE, Math.ceil(text.length / MAX_PIECES))
  const cut: string[] = []
  let at = 0
  while (at < text.length) {
    let end = Math.min(text.length, at + size)
    const code = text.charCodeAt(end - 1)
    if (code >= 0xd800 && code <= 0xdbff && end < text.length) end += 1
    cut.push(text.slice(at, end))
    at = end
  }
  return cut
}

/** A declared tool in the prompt. */
export function toolSegment(tool: Fields, index: number): Segment {
  const text = JSON.stringify(tool)
  return { path: `tools[${index}]`, section: 'tools', key: text, text, extraTokens: 0 }
}

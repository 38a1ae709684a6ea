/** Longer texts are counted in pieces, so that nobody has to count all of one at a time. */
export const LONG_TEXT = 256 * 1024
const LONGEST_BETWEEN = 4_096

/** The pieces of a long text, cut in front of a line break or blank where there is one near; a shorter text is one piece. */
export function* textPieces(text: string): Generator<string> {
  for (let from = 0; from < text.length;) {
    const to = endOfPiece(text, from)
    yield text.slice(from, to)
    from = to
  }
}

function endOfPiece(text: string, from: number): number {
  const end = from + LONG_TEXT
  if (end >= text.length) return text.length
  for (let at = end; at > end - LONGEST_BETWEEN; at--) if (text.charCodeAt(at) <= 32) return at
  // Not between the halves of a character.
  return isLowSurrogate(text.charCodeAt(end)) ? end + 1 : end
}

const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff

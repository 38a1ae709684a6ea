import { yieldNow } from '../../util/yield-now.ts'

/**
 * A vocabulary: the bytes of each token, written as a latin-1 string (one character per byte), with its rank. Lower ranks
 * merge first. Strings of bytes are used as keys since JavaScript hashes and compares them natively.
 */
export type Ranks = ReadonlyMap<string, number>

/** Lines between two looks at the clock. */
const PAUSE_EVERY = 2_000

/** Reads the `.tiktoken` form, one `<base64 of the bytes> <rank>` per line: a quarter of a second for most, in slices. */
export async function readTiktokenRanks(file: string): Promise<Ranks> {
  const pause = yieldNow()
  const ranks = new Map<string, number>()
  let start = 0
  for (let line = 1; start < file.length; line++) {
    let end = file.indexOf('\n', start)
    if (end === -1) end = file.length
    const space = file.indexOf(' ', start)
    if (space > start && space < end) {
      ranks.set(Buffer.from(file.slice(start, space), 'base64').toString('latin1'), Number(file.slice(space + 1, end)))
    }
    start = end + 1
    if (line % PAUSE_EVERY === 0) await pause()
  }
  return ranks
}

const NOT_ASCII = /[^\0-\u007f]/

/** The UTF-8 bytes of a text, one character per byte. Lone surrogates become U+FFFD, as every provider's JSON reader does. */
export function bytesOf(text: string): string {
  return NOT_ASCII.test(text) ? Buffer.from(text, 'utf8').toString('latin1') : text
}

/**
 * A vocabulary: the bytes of each token, written as a latin-1 string (one character per byte), with its rank. Lower ranks
 * merge first. Strings of bytes are used as keys since JavaScript hashes and compares them natively.
 */
export type Ranks = ReadonlyMap<string, number>

/** Reads the `.tiktoken` form: one `<base64 of the bytes> <rank>` per line. */
export function readTiktokenRanks(file: string): Ranks {
  const ranks = new Map<string, number>()
  let start = 0
  while (start < file.length) {
    let end = file.indexOf('\n', start)
    if (end === -1) end = file.length
    const space = file.indexOf(' ', start)
    if (space > start && space < end) {
      ranks.set(Buffer.from(file.slice(start, space), 'base64').toString('latin1'), Number(file.slice(space + 1, end)))
    }
    start = end + 1
  }
  return ranks
}

const NOT_ASCII = /[^\0-\u007f]/

/** The UTF-8 bytes of a text, one character per byte. Lone surrogates become U+FFFD, as every provider's JSON reader does. */
export function bytesOf(text: string): string {
  return NOT_ASCII.test(text) ? Buffer.from(text, 'utf8').toString('latin1') : text
}

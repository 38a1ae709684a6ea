/*
 * What a word is, for every store and for `recall`, so that they find the same: runs of letters and digits, in lower case. Scripts without spaces are
 * indexed by character and by pair of characters.
 */

const RUN = /[\p{L}\p{N}\p{M}]+/gu
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u
const UNSPACED_RUN = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]+/gu
/** Longer runs are data (base64, hashes); only their first characters are indexed. */
const MAX_WORD = 40
const MAX_QUERY_WORDS = 32

/** A text with more distinct words than about this is data, and the rest of it is not indexed. */
export const ENOUGH_WORDS = 20_000
const PIECE = 64 * 1024
const LONGEST_BETWEEN = 256

/** Distinct words of a text, for the index. */
export function wordsOf(text: string): string[] {
  const words = new Set<string>()
  for (const piece of wordPieces(text)) {
    addWords(words, piece)
    if (words.size >= ENOUGH_WORDS) break
  }
  return [...words]
}

/** A text in pieces, from both ends towards the middle: the beginning and the end are searched for most. */
export function wordPieces(text: string): readonly string[] {
  const pieces: string[] = []
  for (let from = 0; from < text.length;) {
    const to = endOfPiece(text, from)
    pieces.push(text.slice(from, to))
    from = to
  }
  return pieces.map((_, i) => pieces[i % 2 === 0 ? i / 2 : pieces.length - (i + 1) / 2]!)
}

export function addWords(words: Set<string>, piece: string): void {
  for (const run of runsOf(piece)) {
    if (UNSPACED.test(run)) for (const part of pieces(run, true)) words.add(part)
    else words.add(cut(run))
  }
}

/** Ends a piece at white space, if there is some nearby. */
function endOfPiece(text: string, from: number): number {
  const end = from + PIECE
  if (end >= text.length) return text.length
  for (let i = end; i > end - LONGEST_BETWEEN; i--) if (text.charCodeAt(i) <= 32) return i
  return end
}

/** Distinct words to look for. Pairs of characters are enough where a run has two or more. */
export function queryWords(query: string): string[] {
  const words = runsOf(query).flatMap((run) => (UNSPACED.test(run) ? pieces(run, false) : [cut(run)]))
  return [...new Set(words)].slice(0, MAX_QUERY_WORDS)
}

const runsOf = (text: string): string[] => text.toLowerCase().normalize('NFC').match(RUN) ?? []
const cut = (run: string): string =>
  run.length > MAX_WORD
    ? Array.from(run.slice(0, 2 * MAX_WORD))
        .slice(0, MAX_WORD)
        .join('')
    : run

function pieces(run: string, singles: boolean): string[] {
  const out: string[] = []
  let end = 0
  for (const match of run.matchAll(UNSPACED_RUN)) {
    if (match.index > end) out.push(cut(run.slice(end, match.index)))
    end = match.index + match[0].length
    const characters = Array.from(match[0])
    if (singles || characters.length === 1) out.push(...characters)
    for (let i = 1; i < characters.length; i++) out.push(`${characters[i - 1]}${characters[i]}`)
  }
  if (end < run.length) out.push(cut(run.slice(end)))
  return out
}

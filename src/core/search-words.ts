/*
 * One idea of a word for every store and for `recall`, so that a search finds the same on each of them: runs of letters and digits,
 * lower-cased. Scripts written without spaces are indexed by character and by pair of characters.
 */

const RUN = /[\p{L}\p{N}\p{M}]+/gu
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u
const UNSPACED_RUN = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]+/gu
/** Longer runs are data (base64, hashes); their first characters find them. */
const MAX_WORD = 40
const MAX_QUERY_WORDS = 32

/** Words of one text that are indexed: a text with more of them is data, and every one costs as much as one of prose. */
export const MOST_WORDS = 20_000
const PIECE = 64 * 1024
const LONGEST_BETWEEN = 256

/** Distinct words of a text, for the index. */
export function wordsOf(text: string): string[] {
  const words = new Set<string>()
  for (let at = 0; at < text.length && words.size < MOST_WORDS;) at = addWords(words, text, at)
  return [...words].slice(0, MOST_WORDS)
}

/** The same for a text of any length, a piece at a time: adds the words of the piece that begins at `at`, and says where the next one begins. */
export function addWords(words: Set<string>, text: string, at: number): number {
  const end = endOfPiece(text, at)
  for (const run of runsOf(text.slice(at, end))) {
    if (UNSPACED.test(run)) for (const piece of pieces(run, true)) words.add(piece)
    else words.add(cut(run))
  }
  return end
}

/** At white space, where there is some near. */
function endOfPiece(text: string, at: number): number {
  const end = at + PIECE
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

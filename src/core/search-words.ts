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

/** Distinct words of a text, for the index. */
export function wordsOf(text: string): string[] {
  return [...new Set(runsOf(text).flatMap((run) => (UNSPACED.test(run) ? pieces(run, true) : [cut(run)])))]
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

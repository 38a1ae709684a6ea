import type { SearchHit } from '../../ports/session-store.ts'

/*
 * One idea of a word for every store, so that a search finds the same records on each of them: runs of letters and digits,
 * lower-cased. Scripts written without spaces are indexed by character and by pair of characters.
 */

const RUN = /[\p{L}\p{N}\p{M}]+/gu
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u
const UNSPACED_RUN = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]+/gu
/** Longer runs are data (base64, hashes); their first characters find them. */
const MAX_WORD = 40
const MAX_QUERY_WORDS = 32
const EXCERPT_BEFORE = 60
const EXCERPT_LENGTH = 240

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

export interface Candidate {
  readonly session: string
  readonly version: number
  readonly at: number
  readonly text: string
}

/** Most of the asked words first, then newest first: the same order on every store. */
export function rankCandidates(candidates: readonly Candidate[], query: readonly string[], limit: number): SearchHit[] {
  const scored = candidates.map((candidate) => {
    const words = new Set(wordsOf(candidate.text))
    return { candidate, score: query.filter((word) => words.has(word)).length }
  })
  return scored
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || b.candidate.at - a.candidate.at || b.candidate.version - a.candidate.version)
    .slice(0, limit)
    .map(({ candidate: { session, version, text } }) => ({ session, version, excerpt: excerptOf(text, query) }))
}

/** The text around the first asked word, whole characters only. */
export function excerptOf(text: string, query: readonly string[]): string {
  const lower = text.toLowerCase()
  const found = query.map((word) => lower.indexOf(word)).filter((at) => at >= 0)
  const start = Math.max(0, (found.length === 0 ? 0 : Math.min(...found)) - EXCERPT_BEFORE)
  const end = Math.min(text.length, start + EXCERPT_LENGTH)
  const middle = trimSurrogates(text.slice(start, end))
  return `${start > 0 ? '…' : ''}${middle}${end < text.length ? '…' : ''}`
}

function trimSurrogates(text: string): string {
  return text.replace(/^[\udc00-\udfff]/, '').replace(/[\ud800-\udbff]$/, '')
}

import { wordsOf } from '../../core/search-words.ts'
import type { SearchHit } from '../../ports/session-store.ts'

const EXCERPT_BEFORE = 60
const EXCERPT_LENGTH = 240

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

import { distinct } from './by-kind.ts'
import type { Piece } from './pieces.ts'

/** What a preview in the place of each large result would have kept out of the requests of this session: the default policy shows them so. */
export interface Saving {
  readonly step: 'shorten-large-results'
  readonly items: number
  /** Tokens that would not have been sent, over all calls. */
  readonly sentTokens: number
}

export interface SavingOptions {
  /** Results above this many tokens are shown as a preview. @default 4000 */
  readonly largeTokens?: number
  /** Tokens of such a preview. @default 1000 */
  readonly previewTokens?: number
}

export function savingsOf(pieces: readonly Piece[], options: SavingOptions = {}): readonly Saving[] {
  const { largeTokens = 4000, previewTokens = 1000 } = options
  const large = distinct(pieces).filter(({ part, tokens }) => part.kind === 'result' && tokens > largeTokens)
  const sentTokens = large.reduce((sum, { tokens, timesSent }) => sum + (tokens - previewTokens) * timesSent, 0)
  return sentTokens > 0
    ? [{ step: 'shorten-large-results', items: large.length, sentTokens: Math.round(sentTokens) }]
    : []
}

import { distinct } from './by-kind.ts'
import type { Piece } from './pieces.ts'
import type { Repeats } from './repeats.ts'

/** What a step of a context manager would have kept out of the requests of this session. */
export interface Saving {
  readonly step:
    | 'shorten-large-results'
    | 'collapse-re-reads'
    | 'collapse-duplicates'
    | 'offload-old-results'
    | 'strip-reasoning'
  readonly items: number
  /** Tokens that would not have been sent, over all calls. */
  readonly sentTokens: number
}

export interface SavingOptions {
  /** Results above this many tokens are shown as a preview. @default 4000 */
  readonly largeTokens?: number
  /** Tokens of such a preview, and of the stub of an old result. @default 1000 */
  readonly previewTokens?: number
  /** Calls after which a result counts as old. @default 20 */
  readonly oldCalls?: number
}

const STUB_TOKENS = 60

/** Each step on its own: they overlap, so the sums must not be added. Largest first. */
export function savingsOf(pieces: readonly Piece[], repeats: Repeats, options: SavingOptions = {}): readonly Saving[] {
  const { largeTokens = 4000, previewTokens = 1000, oldCalls = 20 } = options
  const once = distinct(pieces)
  const results = once.filter(({ part }) => part.kind === 'result')
  const large = results.filter(({ tokens }) => tokens > largeTokens)
  const old = results.filter(({ tokens, timesSent }) => tokens > STUB_TOKENS && timesSent > oldCalls)
  const reasoning = once.filter(({ part, timesSent }) => part.kind === 'reasoning' && timesSent > 1)
  const savings: readonly Saving[] = [
    {
      step: 'shorten-large-results',
      items: large.length,
      sentTokens: sum(large, ({ tokens, timesSent }) => (tokens - previewTokens) * timesSent),
    },
    {
      step: 'offload-old-results',
      items: old.length,
      sentTokens: sum(old, ({ tokens, timesSent }) => (tokens - STUB_TOKENS) * (timesSent - oldCalls)),
    },
    {
      step: 'collapse-re-reads',
      items: repeats.readAgain.reduce((total, { reads }) => total + reads - 1, 0),
      sentTokens: repeats.readAgain.reduce((total, { sentTokens }) => total + sentTokens, 0),
    },
    {
      step: 'collapse-duplicates',
      items: repeats.duplicates.reduce((total, { copies }) => total + copies - 1, 0),
      sentTokens: repeats.duplicates.reduce((total, { sentTokens }) => total + Math.round(sentTokens), 0),
    },
    // Thinking is needed in the open step alone: what is sent more than once is old.
    {
      step: 'strip-reasoning',
      items: reasoning.length,
      sentTokens: sum(reasoning, ({ tokens, timesSent }) => tokens * (timesSent - 1)),
    },
  ]
  return savings.filter(({ sentTokens }) => sentTokens > 0).sort((a, b) => b.sentTokens - a.sentTokens)
}

function sum(pieces: readonly Piece[], saved: (piece: Piece) => number): number {
  return Math.round(pieces.reduce((total, piece) => total + saved(piece), 0))
}

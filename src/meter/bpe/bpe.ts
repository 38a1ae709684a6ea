import { createMerger } from './merge.ts'
import { bytesOf, type Ranks } from './ranks.ts'

export interface BpeOptions {
  readonly ranks: Ranks
  /** Cuts the text into pieces that are merged apart; must be global and must match every character. */
  readonly pattern: RegExp
  /** Pieces whose count is remembered, twice this many at most. @default 50000 */
  readonly cachedPieces?: number
}

/** Longer pieces are rare and would make the memory of the cache unbounded. */
const MAX_CACHED_LENGTH = 48

/** Counts tokens exactly as the encoding's own library does, special tokens taken as plain text. Linear in practice on every input. */
export function createBpeCounter(options: BpeOptions): (text: string) => number {
  const { ranks, cachedPieces = 50_000 } = options
  // An own copy, since a global pattern carries its position.
  const pattern = new RegExp(options.pattern.source, options.pattern.flags)
  let longestToken = 0
  for (const token of ranks.keys()) if (token.length > longestToken) longestToken = token.length
  const merge = createMerger(ranks, longestToken)
  let recent = new Map<string, number>()
  let older = new Map<string, number>()

  function countPiece(piece: string): number {
    const bytes = bytesOf(piece)
    return ranks.has(bytes) ? 1 : merge(bytes)
  }

  function remember(piece: string, count: number): void {
    if (recent.size >= cachedPieces) {
      older = recent
      recent = new Map()
    }
    recent.set(piece, count)
  }

  return (text) => {
    let total = 0
    pattern.lastIndex = 0
    for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
      const piece = match[0]
      let count = recent.get(piece)
      if (count === undefined) {
        const short = piece.length <= MAX_CACHED_LENGTH
        count = (short ? older.get(piece) : undefined) ?? countPiece(piece)
        if (short) remember(piece, count)
      }
      total += count
    }
    return total
  }
}

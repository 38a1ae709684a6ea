import { createMerger } from './merge.ts'
import { bytesOf, type Ranks } from './ranks.ts'

export interface BpeOptions {
  readonly ranks: Ranks
  /**
   * Cut the text into pieces that are merged apart. Each must be global. With several, what one cuts out and what it leaves are
   * cut by the next.
   */
  readonly patterns: readonly RegExp[]
  /** A piece in the alphabet of the ranks. @default its UTF-8 bytes, one character each */
  readonly encode?: (piece: string) => string
  /** Tokens that a piece costs beyond its merged parts. */
  readonly extra?: (piece: string) => number
  /** Pieces whose count is remembered, twice this many at most. @default 50000 */
  readonly cachedPieces?: number
}

/** Longer pieces are rare and would make the memory of the cache unbounded. */
const MAX_CACHED_LENGTH = 48

/**
 * No word is as long. A run without a boundary is merged in parts, each of which stays in the processor's cache; a cut costs at most a token
 * or two, in four thousand characters.
 */
const LONGEST_MERGED = 4_096

/** Counts tokens as the vocabulary's own library does, special tokens taken as plain text. */
export function createBpeCounter(options: BpeOptions): (text: string) => number {
  const { ranks, encode = bytesOf, extra, cachedPieces = 50_000 } = options
  // Own copies, since a global pattern carries its position.
  const patterns = options.patterns.map(({ source, flags }) => new RegExp(source, flags))
  let longestToken = 0
  for (const token of ranks.keys()) if (token.length > longestToken) longestToken = token.length
  const merge = createMerger(ranks, longestToken)
  let recent = new Map<string, number>()
  let older = new Map<string, number>()

  function countPiece(piece: string): number {
    const known = recent.get(piece)
    if (known !== undefined) return known
    const short = piece.length <= MAX_CACHED_LENGTH
    const count = (short ? older.get(piece) : undefined) ?? mergePiece(piece)
    if (short) remember(piece, count)
    return count
  }

  function mergePiece(piece: string): number {
    const encoded = encode(piece)
    const own = extra?.(piece) ?? 0
    if (encoded.length <= LONGEST_MERGED) return (ranks.has(encoded) ? 1 : merge(encoded)) + own
    let count = 0
    for (let from = 0; from < encoded.length; from += LONGEST_MERGED)
      count += merge(encoded.slice(from, from + LONGEST_MERGED))
    return count + own
  }

  function remember(piece: string, count: number): void {
    if (recent.size >= cachedPieces) {
      older = recent
      recent = new Map()
    }
    recent.set(piece, count)
  }

  function countFrom(stage: number, text: string): number {
    const pattern = patterns[stage]
    if (pattern === undefined) return countPiece(text)
    const last = stage === patterns.length - 1
    let total = 0
    let end = 0
    pattern.lastIndex = 0
    for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
      const piece = match[0]
      const after = pattern.lastIndex
      if (match.index > end) total += countFrom(stage + 1, text.slice(end, match.index))
      total += last ? countPiece(piece) : countFrom(stage + 1, piece)
      end = after
      // Inner stages share no pattern with this one, but a match of nothing would never move on.
      pattern.lastIndex = after === match.index ? after + 1 : after
    }
    return end < text.length ? total + countFrom(stage + 1, text.slice(end)) : total
  }

  return (text) => (text === '' ? 0 : countFrom(0, text))
}

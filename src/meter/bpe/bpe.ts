/* `createMerger` is long because its two ways of merging share their arrays. */
import { yieldNow } from '../../util/yield-now.ts'

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

/** Below this many bytes a plain scan for the best pair beats keeping a heap. */
const SCAN_BYTES = 20
const MAX_POSITION = 2 ** 28

/**
 * Counts the tokens that byte-pair merging leaves of one piece. Always merges the pair of lowest rank, leftmost first, as
 * the reference does. O(n log n): the usual rescan after each merge is quadratic, and one megabyte of a single letter then
 * stops a process for minutes.
 */
function createMerger(ranks: Ranks, longestToken: number): (bytes: string) => number {
  const heap = createHeap()
  let capacity = 0
  let next = new Int32Array(0)
  let previous = new Int32Array(0)
  let end = new Int32Array(0)
  let best = new Int32Array(0)

  function grow(size: number): void {
    if (size <= capacity) return
    capacity = size * 2
    next = new Int32Array(capacity)
    previous = new Int32Array(capacity)
    end = new Int32Array(capacity)
    best = new Int32Array(capacity)
  }

  function rankBetween(bytes: string, from: number, to: number): number {
    return to - from <= longestToken ? (ranks.get(bytes.slice(from, to)) ?? -1) : -1
  }

  function mergeShort(bytes: string): number {
    let count = bytes.length
    for (let i = 0; i < count; i++) end[i] = i + 1
    for (let i = 0; i + 1 < count; i++) best[i] = rankBetween(bytes, i, i + 2)
    for (;;) {
      let at = -1
      let lowest = Infinity
      for (let i = 0; i + 1 < count; i++) {
        const rank = best[i]!
        if (rank >= 0 && rank < lowest) {
          lowest = rank
          at = i
        }
      }
      if (at === -1) return count
      end.copyWithin(at, at + 1, count)
      best.copyWithin(at + 1, at + 2, count)
      count--
      const from = at === 0 ? 0 : end[at - 1]!
      best[at] = at + 1 < count ? rankBetween(bytes, from, end[at + 1]!) : -1
      if (at > 0) best[at - 1] = rankBetween(bytes, at === 1 ? 0 : end[at - 2]!, end[at]!)
    }
  }

  function mergeLong(bytes: string): number {
    const length = bytes.length
    let count = length
    heap.clear()
    const offer = (at: number, to: number): void => {
      const rank = rankBetween(bytes, at, to)
      best[at] = rank
      if (rank >= 0) heap.push(rank * MAX_POSITION + at)
    }
    for (let i = 0; i < length; i++) {
      next[i] = i + 1
      previous[i] = i - 1
      end[i] = i + 1
    }
    best[length - 1] = -1
    for (let i = 0; i + 1 < length; i++) offer(i, i + 2)
    for (let key = heap.pop(); key >= 0; key = heap.pop()) {
      const rank = Math.floor(key / MAX_POSITION)
      const at = key - rank * MAX_POSITION
      // An entry whose pair has changed since it was pushed.
      if (best[at] !== rank) continue
      const swallowed = next[at]!
      const after = next[swallowed]!
      best[swallowed] = -1
      best[at] = -1
      end[at] = end[swallowed]!
      next[at] = after
      count--
      if (after < length) {
        previous[after] = at
        offer(at, end[after]!)
      }
      const before = previous[at]!
      if (before >= 0) offer(before, end[at])
    }
    return count
  }

  return (bytes) => {
    if (bytes.length < 2) return bytes.length
    grow(bytes.length)
    return bytes.length <= SCAN_BYTES ? mergeShort(bytes) : mergeLong(bytes)
  }
}

/** A binary min-heap of numbers in one typed array. `pop` gives -1 when it is empty. */
function createHeap(): { clear(): void; push(key: number): void; pop(): number } {
  let keys = new Float64Array(1024)
  let size = 0
  return {
    clear() {
      size = 0
    },
    push(key) {
      if (size === keys.length) {
        const larger = new Float64Array(size * 2)
        larger.set(keys)
        keys = larger
      }
      let at = size++
      while (at > 0) {
        const parent = (at - 1) >> 1
        if (keys[parent]! <= key) break
        keys[at] = keys[parent]!
        at = parent
      }
      keys[at] = key
    },
    pop() {
      if (size === 0) return -1
      const top = keys[0]!
      const last = keys[--size]!
      let at = 0
      for (;;) {
        let child = 2 * at + 1
        if (child >= size) break
        if (child + 1 < size && keys[child + 1]! < keys[child]!) child++
        if (keys[child]! >= last) break
        keys[at] = keys[child]!
        at = child
      }
      keys[at] = last
      return top
    },
  }
}

/**
 * A vocabulary: the bytes of each token, written as a latin-1 string (one character per byte), with its rank. Lower ranks
 * merge first. Strings of bytes are used as keys since JavaScript hashes and compares them natively.
 */
export type Ranks = ReadonlyMap<string, number>

/** Lines between two looks at the clock. */
const PAUSE_EVERY = 2_000

/** Reads the `.tiktoken` form, one `<base64 of the bytes> <rank>` per line: a quarter of a second for most, in slices. */
export async function readTiktokenRanks(file: string): Promise<Ranks> {
  const pause = yieldNow()
  const ranks = new Map<string, number>()
  let start = 0
  for (let line = 1; start < file.length; line++) {
    let end = file.indexOf('\n', start)
    if (end === -1) end = file.length
    const space = file.indexOf(' ', start)
    if (space > start && space < end) {
      ranks.set(Buffer.from(file.slice(start, space), 'base64').toString('latin1'), Number(file.slice(space + 1, end)))
    }
    start = end + 1
    if (line % PAUSE_EVERY === 0) await pause()
  }
  return ranks
}

const NOT_ASCII = /[^\0-\u007f]/

/** The UTF-8 bytes of a text, one character per byte. Lone surrogates become U+FFFD, as every provider's JSON reader does. */
function bytesOf(text: string): string {
  return NOT_ASCII.test(text) ? Buffer.from(text, 'utf8').toString('latin1') : text
}

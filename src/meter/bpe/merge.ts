import type { Ranks } from './ranks.ts'

/** Below this many bytes a plain scan for the best pair beats keeping a heap. */
const SCAN_BYTES = 20
const MAX_POSITION = 2 ** 28

/**
 * Counts the tokens that byte-pair merging leaves of one piece. Always merges the pair of lowest rank, leftmost first, as
 * the reference does. O(n log n): the usual rescan after each merge is quadratic, and one megabyte of a single letter then
 * stops a process for minutes.
 */
export function createMerger(ranks: Ranks, longestToken: number): (bytes: string) => number {
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

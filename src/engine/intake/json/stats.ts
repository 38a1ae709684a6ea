import { shortNumber } from '../text.ts'

/** How many numbers all summaries of one view may hold exactly; shared, so that a thousand columns stay bounded too. */
export interface ExactPool {
  left: number
}

export const exactPool = (values = 1_000_000): ExactPool => ({ left: values })

export interface NumberSummary {
  readonly count: number
  readonly min: number
  readonly max: number
  readonly mean: number
  readonly sum: number
  readonly p50: number
  readonly p90: number
  readonly p95: number
  readonly p99: number
  /** Percentiles are within 1 % instead of exact. */
  readonly approximate: boolean
}

const GAMMA = 1.02
const LOG_GAMMA = Math.log(GAMMA)

/**
 * Minimum, maximum, mean and percentiles of a stream of numbers. Exact while the pool lasts; then values move into buckets
 * whose borders grow by 2 %, which keeps percentiles within 1 % and memory within a few thousand buckets.
 */
export class NumberStats {
  count = 0
  min = Infinity
  max = -Infinity
  sum = 0
  #values: number[] | undefined = []
  #buckets = new Map<number, number>()
  readonly #pool: ExactPool

  constructor(pool: ExactPool = exactPool()) {
    this.#pool = pool
  }

  add(value: number): void {
    if (!Number.isFinite(value)) return
    this.count++
    this.sum += value
    if (value < this.min) this.min = value
    if (value > this.max) this.max = value
    if (this.#values !== undefined && this.#pool.left > 0) {
      this.#pool.left--
      this.#values.push(value)
      return
    }
    if (this.#values !== undefined) {
      for (const kept of this.#values) this.#bucket(kept)
      this.#values = undefined
    }
    this.#bucket(value)
  }

  #bucket(value: number): void {
    const size = Math.abs(value)
    const index = size < 1e-9 ? 0 : Math.round(Math.log(size * 1e9) / LOG_GAMMA) + 1
    const key = value < 0 ? -index : index
    this.#buckets.set(key, (this.#buckets.get(key) ?? 0) + 1)
  }

  /** Nearest rank: a value that was really there (or its bucket's middle). */
  percentiles(shares: readonly number[]): number[] {
    if (this.count === 0) return shares.map(() => Number.NaN)
    if (this.#values !== undefined) {
      const values = this.#values
      const ranks = shares.map((share) => Math.max(0, Math.ceil(share * values.length) - 1))
      return ranksOfIntegers(values, ranks, this.min, this.max) ?? ranksOf(values, ranks)
    }
    const buckets = [...this.#buckets].sort((a, b) => a[0] - b[0])
    return shares.map((share) => {
      let rank = Math.max(1, Math.ceil(share * this.count))
      for (const [key, count] of buckets) {
        rank -= count
        if (rank <= 0) return this.#clamp(key)
      }
      return this.max
    })
  }

  #clamp(key: number): number {
    const size = key === 0 ? 0 : Math.exp((Math.abs(key) - 1) * LOG_GAMMA) / 1e9
    return Math.min(this.max, Math.max(this.min, key < 0 ? -size : size))
  }

  /** Median absolute deviation; only while the values are held. */
  deviation(median: number): number | undefined {
    if (this.#values === undefined || this.#values.length === 0) return undefined
    const distances = Float64Array.from(this.#values, (value) => Math.abs(value - median)).sort()
    return distances[Math.ceil(distances.length / 2) - 1]
  }

  summary(): NumberSummary | undefined {
    if (this.count === 0) return undefined
    const [p50, p90, p95, p99] = this.percentiles([0.5, 0.9, 0.95, 0.99]) as [number, number, number, number]
    const { count, min, max, sum } = this
    return { count, min, max, mean: sum / count, sum, p50, p90, p95, p99, approximate: this.#values === undefined }
  }
}

/** The values at these places of the sorted list. */
function ranksOf(values: readonly number[], ranks: readonly number[]): number[] {
  const sorted = Float64Array.from(values).sort()
  return ranks.map((rank) => sorted[rank]!)
}

/** The same of whole numbers that lie close together, by counting: ids, ports, milliseconds. Undefined for other numbers. */
function ranksOfIntegers(
  values: readonly number[],
  ranks: readonly number[],
  min: number,
  max: number,
): number[] | undefined {
  if (max - min > values.length * 4) return undefined
  const counts = new Uint32Array(max - min + 1)
  for (const value of values) {
    if (!Number.isInteger(value)) return undefined
    counts[value - min]!++
  }
  return ranks.map((rank) => {
    let seen = 0
    for (let at = 0; at < counts.length; at++) if ((seen += counts[at]!) > rank) return min + at
    return max
  })
}

/** The percentile block of a template: rounded, since it is for reading. */
export function roundedSummary(stats: NumberStats): Record<string, number> | undefined {
  const summary = stats.summary()
  if (summary === undefined) return undefined
  const { min, max, mean, p50, p95, p99 } = summary
  return {
    min: rounded(min),
    max: rounded(max),
    avg: rounded(mean),
    p50: rounded(p50),
    p95: rounded(p95),
    p99: rounded(p99),
  }
}

export const rounded = (value: number): number => Number(shortNumber(value))

/** Counts words. Holds at most `capacity` different ones; beyond that, new words are only counted as `others`. */
export class Counter {
  /** Each in an object of its own: counting a known word is one look-up. */
  readonly #counts = new Map<string, { times: number }>()
  readonly #capacity: number
  others = 0

  constructor(capacity = 1_000) {
    this.#capacity = capacity
  }

  add(word: string, by = 1): void {
    const count = this.#counts.get(word)
    if (count !== undefined) count.times += by
    else if (this.#counts.size >= this.#capacity) this.others += by
    else this.#counts.set(word, { times: by })
  }

  get size(): number {
    return this.#counts.size
  }

  get(word: string): number {
    return this.#counts.get(word)?.times ?? 0
  }

  /** Most frequent first; words of equal count in order of first sight. */
  top(count = Infinity): [string, number][] {
    const sorted = Array.from(this.#counts, ([word, { times }]): [string, number] => [word, times])
    sorted.sort((a, b) => b[1] - a[1])
    return count >= sorted.length ? sorted : sorted.slice(0, count)
  }

  toObject(count = Infinity): Record<string, number> {
    const out: Record<string, number> = Object.create(null) as Record<string, number>
    for (const [word, times] of this.top(count)) out[word] = times
    const rest = this.top().slice(Number.isFinite(count) ? count : this.size)
    const left = rest.reduce((sum, [, times]) => sum + times, this.others)
    if (left > 0) out[`… ${rest.length}${this.others > 0 ? '+' : ''} others`] = left
    return out
  }
}

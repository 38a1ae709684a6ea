import { grouped, shortNumber } from '../text.ts'

/**
 * The shape of many records: which fields there are, how often, of which type, with which values. State is bounded by the
 * number of fields and distinct values per field; numbers are held.
 */
const MAX_FIELDS = 2_000
const MAX_DISTINCT = 200
const MAX_DEPTH = 6
const MAX_ARRAY_ITEMS = 100
const MAX_VALUE_CHARS = 80

interface Field {
  readonly path: string
  count: number
  /** How often each type of `TYPES` occurred. */
  readonly types: Partial<Record<TypeName, number>>
  numbers?: NumberStats
  words?: Counter
  longest: number
  children?: Map<string, Field>
  items?: Field
}

export interface FieldReport {
  /** Every record has the same value here. */
  readonly constant: boolean
  readonly path: string
  readonly count: number
  readonly text: string
}

export class Fields {
  records = 0
  #fields = 0
  readonly #root: Field = this.#field('')

  add(record: unknown): void {
    this.records++
    this.#visit(this.#root, record, 0)
  }

  /** Field paths by presence, outer before inner, then by first sight; the root itself when records are scalars. */
  report(): FieldReport[] {
    const out: FieldReport[] = []
    const walk = (field: Field): void => {
      const leaf = field.children === undefined && field.items === undefined
      if (field !== this.#root || leaf)
        out.push({
          path: field.path || 'value',
          count: field.count,
          text: this.#describe(field),
          constant: this.#isConstant(field),
        })
      for (const child of field.children?.values() ?? []) walk(child)
      if (field.items !== undefined) walk(field.items)
    }
    walk(this.#root)
    return out.sort((a, b) => b.count - a.count || depthOf(a.path) - depthOf(b.path))
  }

  /** Top-level field names by frequency, as AutoSRE's generic template lists them. */
  names(): [string, number][] {
    return [...(this.#root.children ?? [])]
      .map(([name, field]): [string, number] => [name, field.count])
      .sort((a, b) => b[1] - a[1])
  }

  #field(path: string): Field {
    this.#fields++
    return { path, count: 0, types: {}, longest: 0 }
  }

  #visit(field: Field, value: unknown, depth: number): void {
    field.count++
    const type = typeName(value) as TypeName
    field.types[type] = (field.types[type] ?? 0) + 1
    if (typeof value === 'number') {
      field.numbers ??= new NumberStats()
      field.numbers.add(value)
    } else if (typeof value === 'string' || typeof value === 'boolean') {
      const word = String(value)
      if (typeof value === 'string') field.longest = Math.max(field.longest, word.length)
      field.words ??= new Counter(MAX_DISTINCT)
      field.words.add(word.slice(0, MAX_VALUE_CHARS))
    } else if (Array.isArray(value)) {
      field.longest = Math.max(field.longest, value.length)
      if (depth < MAX_DEPTH) this.#items(field, value, depth)
    } else if (value !== null && depth < MAX_DEPTH) this.#entries(field, value as Record<string, unknown>, depth)
  }

  #items(field: Field, value: readonly unknown[], depth: number): void {
    if (value.length === 0) return
    field.items ??= this.#field(`${field.path}[]`)
    for (let i = 0; i < value.length && i < MAX_ARRAY_ITEMS; i++) this.#visit(field.items, value[i], depth + 1)
  }

  #entries(field: Field, value: Record<string, unknown>, depth: number): void {
    field.children ??= new Map()
    for (const key of Object.keys(value)) {
      const child = field.children.get(key) ?? this.#newChild(field, field.children, key)
      if (child !== undefined) this.#visit(child, value[key], depth + 1)
    }
  }

  #newChild(field: Field, children: Map<string, Field>, key: string): Field | undefined {
    if (this.#fields >= MAX_FIELDS) return undefined
    const name = key.length > 60 ? `${key.slice(0, 60)}…` : key
    const child = this.#field(field.path === '' ? name : `${field.path}.${name}`)
    children.set(key, child)
    return child
  }

  #isConstant(field: Field): boolean {
    if (this.records < 3 || field.count !== this.records || typesOf(field).length !== 1) return false
    if (field.numbers !== undefined) return field.numbers.min === field.numbers.max
    return field.words !== undefined && field.words.size === 1 && field.words.others === 0
  }

  #describe(field: Field): string {
    const types = typesOf(field)
    const inside = field.path.includes('[]')
    const presence =
      inside || field.count === this.records ? '' : ` in ${grouped(field.count)} of ${grouped(this.records)}`
    const parts = [`${types.join('|')}${presence}`]
    if (field.types.null !== undefined && types.length > 1) parts.push(`${grouped(field.types.null)} null`)
    const summary = field.numbers?.summary()
    if (summary !== undefined) parts.push(numbersText(summary))
    if (field.words !== undefined) parts.push(wordsText(field.words, field.longest))
    if (field.items !== undefined) parts.push(`up to ${grouped(field.longest)} items`)
    return parts.join('; ')
  }
}

const depthOf = (path: string): number => path.split(/\.|\[\]/).length

const TYPES = ['null', 'number', 'string', 'boolean', 'array', 'object'] as const
type TypeName = (typeof TYPES)[number]

/** Types that occurred, most frequent first. */
const typesOf = (field: Field): string[] =>
  TYPES.filter((name) => field.types[name] !== undefined).sort((a, b) => field.types[b]! - field.types[a]!)

function numbersText(summary: NonNullable<ReturnType<NumberStats['summary']>>): string {
  const { count, min, max, mean, p50, p95, p99 } = summary
  if (min === max) return `always ${shortNumber(min)}`
  if (count < 5) return `min ${shortNumber(min)}, max ${shortNumber(max)}`
  return (
    `min ${shortNumber(min)}, p50 ${shortNumber(p50)}, p95 ${shortNumber(p95)}, ` +
    `p99 ${shortNumber(p99)}, max ${shortNumber(max)}, mean ${shortNumber(mean)}`
  )
}

function wordsText(words: Counter, longest: number): string {
  const distinct = words.others > 0 ? `>${grouped(words.size)}` : grouped(words.size)
  if (words.size === 1 && words.others === 0) return `always ${JSON.stringify(words.top(1)[0]![0])}`
  const top = words.top(6)
  // Values that are all different are ids or prose: an example says more than a list.
  if (top[0]![1] === 1)
    return `${distinct} distinct, e.g. ${JSON.stringify(top[0]![0])}${longest > MAX_VALUE_CHARS ? `, up to ${grouped(longest)} chars` : ''}`
  const list = top.map(([word, count]) => `${word === '' ? '""' : word} ${grouped(count)}`).join(', ')
  return `${distinct} distinct: ${list}${words.size > top.length || words.others > 0 ? ', …' : ''}`
}

export function typeName(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value
}

export interface NumberSummary {
  readonly count: number
  readonly min: number
  readonly max: number
  readonly mean: number
  readonly sum: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
}

/** Minimum, maximum, mean and percentiles of numbers. They are all held: eight bytes each are less than their text was. */
export class NumberStats {
  count = 0
  min = Infinity
  max = -Infinity
  sum = 0
  readonly #values: number[] = []

  add(value: number): void {
    if (!Number.isFinite(value)) return
    this.count++
    this.sum += value
    if (value < this.min) this.min = value
    if (value > this.max) this.max = value
    this.#values.push(value)
  }

  /** Nearest rank: a value that was really there. */
  percentiles(shares: readonly number[]): number[] {
    const sorted = Float64Array.from(this.#values).sort()
    return shares.map((share) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? this.max)
  }

  /** Median absolute deviation. */
  deviation(median: number): number | undefined {
    if (this.#values.length === 0) return undefined
    const distances = Float64Array.from(this.#values, (value) => Math.abs(value - median)).sort()
    return distances[Math.ceil(distances.length / 2) - 1]
  }

  summary(): NumberSummary | undefined {
    if (this.count === 0) return undefined
    const [p50, p95, p99] = this.percentiles([0.5, 0.95, 0.99]) as [number, number, number]
    const { count, min, max, sum } = this
    return { count, min, max, mean: sum / count, sum, p50, p95, p99 }
  }
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

import { RE2JS } from 're2js'
import type { SqlDatabase } from './sqljs-types.ts'

type SqlArgument = string | number | null

/** A query could build a new pattern for every row. */
const MAX_PATTERNS = 100

/** What aggregate questions need and SQLite lacks. */
export function addFunctions(database: SqlDatabase): void {
  database.create_aggregate('percentile', {
    init: (): number[] => [],
    step: (state: number[], value: unknown, percent: unknown) => {
      if (state.length === 0) state.push(Number(percent))
      if (typeof value === 'number') state.push(value)
      return state
    },
    finalize: ([percent = 50, ...values]: number[]) => percentile(values, percent),
  })
  database.create_aggregate('stddev', {
    init: () => ({ count: 0, mean: 0, squares: 0 }),
    step: (state: { count: number; mean: number; squares: number }, value: unknown) => {
      if (typeof value !== 'number') return state
      // Welford: a sum of squares would lose the digits that matter when the mean is large.
      const count = state.count + 1
      const mean = state.mean + (value - state.mean) / count
      return { count, mean, squares: state.squares + (value - state.mean) * (value - mean) }
    },
    finalize: ({ count, squares }: { count: number; squares: number }) =>
      count < 2 ? null : Math.sqrt(squares / (count - 1)),
  })
  const regex = patterns()
  // SQLite calls `regexp(pattern, text)` for `text REGEXP pattern`.
  database.create_function('regexp', (pattern: SqlArgument, text: SqlArgument) =>
    text === null ? null : Number(regex(pattern).test(String(text))),
  )
  const extract = (text: SqlArgument, pattern: SqlArgument, group: number): string | null => {
    if (text === null) return null
    const matcher = regex(pattern).matcher(String(text))
    return matcher.find() ? (matcher.group(group) ?? null) : null
  }
  // The number of parameters tells SQLite which of the two is meant.
  database.create_function('regexp_extract', (text: SqlArgument, pattern: SqlArgument) => extract(text, pattern, 0))
  database.create_function('regexp_extract', (text: SqlArgument, pattern: SqlArgument, group: number) =>
    extract(text, pattern, group),
  )
  for (const [name, compute] of Object.entries({ ln: Math.log, exp: Math.exp, log2: Math.log2 })) {
    database.create_function(name, (value: unknown) => (typeof value === 'number' ? compute(value) : null))
  }
}

function patterns(): (pattern: SqlArgument) => RE2JS {
  const compiled = new Map<string, RE2JS>()
  return (pattern) => {
    const key = String(pattern)
    let found = compiled.get(key)
    if (found === undefined) {
      if (compiled.size === MAX_PATTERNS) compiled.clear()
      compiled.set(key, (found = RE2JS.compile(key)))
    }
    return found
  }
}

/** Linear interpolation between the two nearest, as in SQLite's own extension and in PERCENTILE_CONT. */
function percentile(values: readonly number[], percent: number): number | null {
  if (values.length === 0) return null
  const sorted = Float64Array.from(values).sort()
  const place = (Math.min(100, Math.max(0, percent)) / 100) * (sorted.length - 1)
  const below = sorted[Math.floor(place)] ?? 0
  const above = sorted[Math.ceil(place)] ?? below
  return below + (above - below) * (place - Math.floor(place))
}

import { type Fields, isRecord, numberOf } from '../../core/values.ts'

/** Readers for JSON from other programs: a value of the wrong type counts as absent. */

export const objectOf = (value: unknown): Fields => (isRecord(value) ? value : {})

/** Reads a path of fields; undefined when any step is missing. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  let current = value
  for (const key of path) {
    if (!isRecord(current)) return undefined
    current = current[key]
  }
  return current
}

/** A time as milliseconds, from ISO text, seconds or milliseconds since 1970. */
export function timeOf(value: unknown): number | undefined {
  if (typeof value === 'string') {
    const parsed = Date.parse(value)
    return Number.isNaN(parsed) ? undefined : parsed
  }
  const number = numberOf(value)
  // In seconds, times stay below this until the year 5138; in milliseconds they have been above it since 1973.
  return number === undefined ? undefined : number < 1e11 ? number * 1000 : number
}

/** Text unchanged, other values as JSON; for values nested too deep to write, a note. */
export function jsonText(value: unknown): string {
  if (typeof value === 'string') return value
  try {
    return JSON.stringify(value) ?? ''
  } catch {
    return '[nested too deep]'
  }
}

export function withoutKeys(value: Fields, keys: readonly string[]): Fields {
  if (!keys.some((key) => key in value)) return value
  return Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)))
}

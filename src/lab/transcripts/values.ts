import { type Fields, isRecord, numberOf } from '../../core/values.ts'

/** Narrow reading of JSON that strangers wrote: a wrong type is an absent field. */

export const objectOf = (value: unknown): Fields => (isRecord(value) ? value : {})

/** Reads a field path without caring which step is missing. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  let current = value
  for (const key of path) {
    if (!isRecord(current)) return undefined
    current = current[key]
  }
  return current
}

/** ISO text, seconds or milliseconds since 1970, as milliseconds. */
export function timeOf(value: unknown): number | undefined {
  if (typeof value === 'string') {
    const parsed = Date.parse(value)
    return Number.isNaN(parsed) ? undefined : parsed
  }
  const number = numberOf(value)
  // Seconds stay below this until the year 5138; milliseconds have been above it since 1973.
  return number === undefined ? undefined : number < 1e11 ? number * 1000 : number
}

/** Text as it is, anything else as JSON; values nested too deep to be written are named instead. */
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

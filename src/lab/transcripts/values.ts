import { isRecord, numberOf, type Fields } from '../../core/values.ts'

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

/** Arguments travel as JSON text on some wires; text that is no JSON stays text. */
export function parsedArguments(value: unknown): unknown {
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value) as unknown
  } catch {
    return value
  }
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

/** `{ key: value }`, or nothing when there is no value; keeps optional fields absent instead of undefined. */
export function optional<K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { readonly [P in K]?: V }
}

export function withoutKeys(value: Fields, keys: readonly string[]): Fields {
  if (!keys.some((key) => key in value)) return value
  return Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)))
}

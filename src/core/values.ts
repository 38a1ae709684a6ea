/** An object of JSON, read only. */
export type Fields = Readonly<Record<string, unknown>>

/** The one guard for objects of JSON: no null, no list. */
export const isRecord = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const recordOf = (value: unknown): Fields | undefined => (isRecord(value) ? value : undefined)

/** One for all: most that is asked about has no list. */
const NOTHING: readonly never[] = []

/** A list, or an empty one. */
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as unknown[]) : NOTHING)

/** The objects in a list. */
export const recordsIn = (value: unknown): readonly Fields[] =>
  Array.isArray(value) ? (value as unknown[]).filter(isRecord) : NOTHING

/** A string, or an empty one. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

export const stringOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

export const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined

/** What a text of JSON says; undefined for any other text. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether a text is JSON, of whatever kind. */
export const isJsonText = (text: string): boolean => parsedJson(text) !== undefined

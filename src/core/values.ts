export type Fields = Readonly<Record<string, unknown>>

/** Whether a value is a JSON object: not null, not a list. */
export const isRecord = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const recordOf = (value: unknown): Fields | undefined => (isRecord(value) ? value : undefined)

/** Shared, because most values have no list. */
const NOTHING: readonly never[] = []

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as unknown[]) : NOTHING)

export const recordsIn = (value: unknown): readonly Fields[] =>
  Array.isArray(value) ? (value as unknown[]).filter(isRecord) : NOTHING

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

export const stringOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

export const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined

/** The value of a JSON text; undefined for any other text. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** What something that was thrown says. */
export const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown))

export const isJsonText = (text: string): boolean => parsedJson(text) !== undefined

/** The candidate with the smallest edit distance, if it is small enough. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  let best: string | undefined
  let least = Math.max(2, Math.floor(word.length / 2)) + 1
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase())
    if (distance < least) {
      least = distance
      best = candidate
    }
  }
  return best
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)))
    }
    row = next
  }
  return row[b.length]!
}

/** Sizes of slices that are compared at once, the longest first, since most texts continue each other. */
const LONGEST = 1 << 17
const SHORTEST = 1 << 7

/** How many characters two texts share from the start. */
export function commonPrefix(a: string, b: string): number {
  const most = Math.min(a.length, b.length)
  let at = 0
  for (let stretch = LONGEST; stretch >= SHORTEST; stretch >>= 2)
    while (at + stretch <= most && a.slice(at, at + stretch) === b.slice(at, at + stretch)) at += stretch
  while (at < most && a.charCodeAt(at) === b.charCodeAt(at)) at++
  return at
}

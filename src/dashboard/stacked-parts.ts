/* Also part of the page's own code, so it imports nothing. */

export interface StackedPart {
  readonly name: string
  /** For each call, the tokens of this part and of all below it. */
  readonly tops: readonly number[]
  /** Tokens of this part alone, in the last call. */
  readonly last: number
}

export interface Parted {
  readonly parts: Readonly<Record<string, number>>
}

const OTHER = 'other'

/** Stacks the parts of prompts, the largest at the bottom; with more than `most` parts, the small ones are joined. */
export function stackedParts(calls: readonly Parted[], most: number): readonly StackedPart[] {
  const totals = new Map<string, number>()
  for (const { parts } of calls)
    for (const [name, size] of Object.entries(parts)) totals.set(name, (totals.get(name) ?? 0) + size)
  const byShare = [...totals].sort((a, b) => b[1] - a[1]).map(([name]) => name)
  const own = new Set(byShare.length > most ? byShare.slice(0, most - 1) : byShare)
  const names = byShare.length > most ? [...own, OTHER] : byShare
  const sizeIn = ({ parts }: Parted, name: string): number =>
    own.has(name)
      ? (parts[name] ?? 0)
      : Object.entries(parts).reduce((sum, [part, size]) => (own.has(part) ? sum : sum + size), 0)
  let below: readonly number[] = calls.map(() => 0)
  return names.map((name) => {
    const sizes = calls.map((call) => sizeIn(call, name))
    below = sizes.map((size, at) => size + below[at]!)
    return { name, tops: below, last: sizes.at(-1) ?? 0 }
  })
}

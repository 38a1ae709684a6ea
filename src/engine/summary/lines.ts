/** One source of verbatim lines: a result, a call's inputs, something that was said. */
export interface LineSource {
  /** Place in the folded range, oldest first. */
  readonly order: number
  readonly label: string
  readonly lines: readonly string[]
  /** How much this source's lines are worth against others of the same age. */
  readonly weight: number
}

export interface ChosenLines {
  readonly source: LineSource
  /** Indexes into the source's lines, ascending. */
  readonly chosen: readonly number[]
}

/** Lines below this length are seldom quoted and say little alone. */
const MIN_LENGTH = 12
const MAX_LENGTH = 400

/**
 * Chooses verbatim lines under a token budget: recent sources first, a line only once (its newest copy), lines that later
 * work mentions before others. Greedy, deterministic and linear in the text.
 */
export function chooseLines(
  sources: readonly LineSource[],
  budget: number,
  tokensOf: (line: string) => number,
): ChosenLines[] {
  const newest = new Map<string, number>()
  for (const source of sources) {
    for (const line of source.lines) if (isWorth(line)) newest.set(line, source.order)
  }
  const total = sources.length
  const ranked = sources
    .map((source, at) => ({ source, at, score: source.weight * recency(at, total) }))
    .sort((a, b) => b.score - a.score || b.at - a.at)
  const chosen = new Map<LineSource, number[]>()
  let left = budget
  for (const { source } of ranked) {
    const picked: number[] = []
    const labelCost = tokensOf(source.label) + 4
    let cost = 0
    for (const [i, line] of source.lines.entries()) {
      if (!isWorth(line) || newest.get(line) !== source.order) continue
      const price = tokensOf(line) + 1
      if (labelCost + cost + price > left) break
      cost += price
      picked.push(i)
    }
    if (picked.length === 0) continue
    left -= labelCost + cost
    chosen.set(source, picked)
    if (left < 40) break
  }
  return sources.filter((source) => chosen.has(source)).map((source) => ({ source, chosen: chosen.get(source)! }))
}

const isWorth = (line: string): boolean => line.length <= MAX_LENGTH && line.trim().length >= MIN_LENGTH

/** From 1 for the newest source down to about a third for the oldest. */
const recency = (at: number, total: number): number => 1 / (1 + (2 * (total - 1 - at)) / Math.max(1, total))

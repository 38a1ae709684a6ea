/** One answered call, as reports show it. */
export interface TurnUsage {
  readonly input: number
  readonly output: number
}

/** Sum and average over turns; the average is whole, and zero without turns. */
export function turnTotals(turns: readonly TurnUsage[]): { total: number; average: number } {
  const total = turns.reduce((sum, { input, output }) => sum + input + output, 0)
  return { total, average: turns.length === 0 ? 0 : Math.floor(total / turns.length) }
}

/** "Turn 5 | Input: 1200, Output: 850 | Avg/turn: 1050 | Total: 5250" */
export function turnLine(turns: number, last: TurnUsage, total: number): string {
  return `Turn ${turns} | Input: ${last.input}, Output: ${last.output} | Avg/turn: ${Math.floor(total / turns)} | Total: ${total}`
}

/** Turns whose growth is looked at: an old habit says little about the next turn. */
const TREND_TURNS = 10

/**
 * Turns until the load reaches the limit, from how the load grew: occupancies of consecutive turns of one epoch, oldest first.
 * The sum of prompts would count the same history once per turn. Undefined without a trend.
 */
export function turnsRemaining(occupancies: readonly number[], limit: number): number | undefined {
  const growth = occupancies
    .slice(-TREND_TURNS - 1)
    .flatMap((load, index, recent) => (index === 0 ? [] : [load - recent[index - 1]!]))
    .filter((step) => step > 0)
  const last = occupancies.at(-1)
  if (last === undefined || growth.length === 0) return undefined
  const mean = growth.reduce((sum, step) => sum + step, 0) / growth.length
  return Math.max(0, Math.floor((limit - last) / mean))
}

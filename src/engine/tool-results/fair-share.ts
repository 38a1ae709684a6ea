/**
 * Divides `budget` so that nobody gets more than it wants and the smallest share is as large as it can be: small wants are
 * met in full, what they leave is split equally among the rest. Whole numbers; the sum never exceeds the budget.
 */
export function shareFairly(wanted: readonly number[], budget: number): number[] {
  const shares = wanted.map(() => 0)
  const bySize = wanted.map((_, i) => i).sort((a, b) => (wanted[a] ?? 0) - (wanted[b] ?? 0))
  let left = Math.max(0, budget)
  for (const [served, index] of bySize.entries()) {
    const equal = left / (bySize.length - served)
    const share = Math.min(wanted[index] ?? 0, Math.floor(equal))
    shares[index] = share
    left -= share
  }
  return shares
}

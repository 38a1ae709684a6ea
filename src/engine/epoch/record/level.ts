/** The common height that the largest are cut down to so that all together fit: small ones stay whole as long as possible. */
export function levelWithin(sizes: readonly number[], budget: number): number {
  const sorted = sizes.toSorted((a, b) => a - b)
  let left = budget
  for (const [i, size] of sorted.entries()) {
    const share = left / (sorted.length - i)
    if (size > share) return share
    left -= size
  }
  return Infinity
}

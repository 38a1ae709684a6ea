/** One observation: features, the truth, and how much it counts. */
export interface Row {
  readonly x: Float64Array | Uint32Array
  readonly y: number
  readonly weight: number
}

/**
 * Non-negative least squares on relative errors, drawn towards `prior` where the data says little. Coordinate descent on the
 * Gram matrix: a few hundred sweeps over some dozens of features.
 */
export function fitWeights(rows: readonly Row[], prior: readonly number[], pull: number): number[] {
  const size = prior.length
  const gram = Array.from({ length: size }, () => new Float64Array(size))
  const target = new Float64Array(size)
  for (const { x, y, weight } of rows) {
    const scale = weight / (y * y)
    for (let i = 0; i < size; i++) {
      if (x[i] === 0) continue
      target[i]! += x[i]! * y * scale
      for (let j = 0; j < size; j++) gram[i]![j]! += x[i]! * x[j]! * scale
    }
  }
  const total = rows.reduce((sum, row) => sum + row.weight, 0)
  for (let i = 0; i < size; i++) {
    // The pull is in proportion to what a change of this weight would move, with a floor for features never seen.
    const strength = pull * (gram[i]![i]! / 50 + total * 1e-7)
    gram[i]![i]! += strength
    target[i]! += strength * prior[i]!
  }
  const weights = [...prior]
  for (let sweep = 0; sweep < 4000; sweep++) {
    let moved = 0
    for (let i = 0; i < size; i++) {
      let rest = target[i]!
      const line = gram[i]!
      for (let j = 0; j < size; j++) if (j !== i) rest -= line[j]! * weights[j]!
      const next = Math.max(0, rest / line[i]!)
      moved = Math.max(moved, Math.abs(next - weights[i]!))
      weights[i] = next
    }
    if (moved < 1e-7) break
  }
  return weights
}

/**
 * The same with weights that fall with the error (Huber's rule on relative errors), for data where some rows hold text that
 * was never shown: a reminder that a client added must not bend the fit of all others.
 */
export function fitRobust(rows: readonly Row[], prior: readonly number[], pull: number, tolerance = 0.03): number[] {
  let weights = fitWeights(rows, prior, pull)
  for (let round = 0; round < 12; round++) {
    const reweighted = rows.map((row) => {
      const error = Math.abs(dotProduct(row.x, weights) / row.y - 1)
      return { ...row, weight: row.weight * Math.min(1, tolerance / Math.max(error, 1e-6)) }
    })
    weights = fitWeights(reweighted, prior, pull)
  }
  return weights
}

function dotProduct(x: Row['x'], weights: readonly number[]): number {
  let sum = 0
  for (let i = 0; i < x.length; i++) sum += x[i]! * weights[i]!
  return sum
}

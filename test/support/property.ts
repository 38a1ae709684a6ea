import fc from 'fast-check'

/** Fixed, so that a red run can be repeated; PLIMSOLL_SEED tries another one. */
export const SEED = Number(process.env['PLIMSOLL_SEED'] ?? 20_261_115)
console.info(`seed ${SEED}`)

/** Runs a property 1,000 times (`runs` changes it) and names the seed when it fails. */
export function property<T>(arbitrary: fc.Arbitrary<T>, predicate: (value: T) => void, runs = 1_000): void {
  fc.assert(fc.property(arbitrary, predicate), { seed: SEED, numRuns: runs, verbose: fc.VerbosityLevel.None })
}

export async function asyncProperty<T>(
  arbitrary: fc.Arbitrary<T>,
  predicate: (value: T) => Promise<void>,
  runs = 200,
): Promise<void> {
  await fc.assert(fc.asyncProperty(arbitrary, predicate), {
    seed: SEED,
    numRuns: runs,
    verbose: fc.VerbosityLevel.None,
  })
}

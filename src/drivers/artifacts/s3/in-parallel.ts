const WIDTH = 16

/** Runs `job` for every entry, a bounded number at a time, and keeps the order. */
export async function inParallel<T, R>(entries: readonly T[], job: (entry: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < entries.length) {
      const i = next++
      results[i] = await job(entries[i] as T)
    }
  }
  await Promise.all(Array.from({ length: Math.min(WIDTH, entries.length) }, lane))
  return results
}

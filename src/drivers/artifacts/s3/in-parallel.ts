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

/** Runs jobs of one key one after the other, and jobs of different keys side by side. */
export function keyedQueue(): <T>(key: string, job: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>()
  return async (key, job) => {
    const mine = (last.get(key) ?? Promise.resolve()).then(job, job)
    const settled = mine.then(
      () => {},
      () => {},
    )
    last.set(key, settled)
    try {
      return await mine
    } finally {
      if (last.get(key) === settled) last.delete(key)
    }
  }
}

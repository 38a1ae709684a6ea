/** Nobody else gets to work while a slice runs. */
const SLICE_MS = 8

/** For long loops: lets other work of the process run, when the last time was long enough ago. */
export function yieldNow(): () => Promise<void> {
  let until = performance.now() + SLICE_MS
  return async () => {
    if (performance.now() < until) return
    await new Promise((resolve) => setImmediate(resolve))
    until = performance.now() + SLICE_MS
  }
}

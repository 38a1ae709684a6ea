import { setImmediate } from 'node:timers'

/** Nobody else gets to work while a slice runs. */
const SLICE_MS = 8

/** Lets other work of the process run, when the last time was long enough ago. */
export type Pause = () => Promise<void>

/** For long loops, and between the parts of long work. */
export function yieldNow(sliceMs = SLICE_MS): Pause {
  let until = performance.now() + sliceMs
  return async () => {
    if (performance.now() < until) return
    await new Promise((resolve) => setImmediate(resolve))
    until = performance.now() + sliceMs
  }
}

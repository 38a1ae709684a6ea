import { setImmediate } from 'node:timers'

/** How long a loop may block the event loop. */
const SLICE_MS = 8

/** Lets other work run when the slice is used up; else returns undefined. */
export type Pause = () => Promise<void> | undefined

/** Resolves in the next round of the event loop, after pending I/O. */
export const nextRound = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

export function yieldNow(sliceMs = SLICE_MS): Pause {
  let until = performance.now() + sliceMs
  const next = async (): Promise<void> => {
    await nextRound()
    until = performance.now() + sliceMs
  }
  return () => (performance.now() < until ? undefined : next())
}

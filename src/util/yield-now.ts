import { setImmediate } from 'node:timers'

/** Nobody else gets to work while a slice runs. */
const SLICE_MS = 8

/** Lets other work of the process run, when the last time was long enough ago; else there is nothing to wait for. */
export type Pause = () => Promise<void> | undefined

/** When what has been handed to sockets is out, and whoever waited for it has had a turn. */
export const nextRound = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** For long loops, and between the parts of long work. */
export function yieldNow(sliceMs = SLICE_MS): Pause {
  let until = performance.now() + sliceMs
  const next = async (): Promise<void> => {
    await nextRound()
    until = performance.now() + sliceMs
  }
  return () => (performance.now() < until ? undefined : next())
}

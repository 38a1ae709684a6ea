import { BoundedMap } from '../../../lib/bounded-map.ts'
import type { Count } from '../../../core/count.ts'
import type { Usage } from '../../../core/usage.ts'
import { looksTruncated } from '../../../meter/index.ts'

/** One answer's count beside what we had thought of its request. */
export interface Report {
  /** Session, agent, endpoint and model. */
  readonly key: string
  readonly epoch: string | undefined
  readonly load: Count
  readonly usage: Usage
}

/**
 * Local servers drop the front of a prompt that is too long, answer 200, and count what was left. Two signs of it: a count far below
 * what was sent, and counts that stand still while the requests grow.
 */
export interface CutPrompts {
  /** The window that the server seems to have; undefined while nothing points to a cut. */
  windowIn(report: Report): number | undefined
}

/** A smaller count than this is one of what was new, from a server that keeps the rest. */
const LEAST_WINDOW = 1_024
/** Counts this near to each other stand still. */
const STILL = 0.03
/** Growth that a count cannot miss, as a share of the prompt. */
const GROWTH = 0.05
/** Standing still once may be a quirk of counting. */
const TIMES_STILL = 2
const MOST_KNOWN = 1_000

export function createCutPrompts(): CutPrompts {
  const known = new BoundedMap<
    string,
    { readonly input: number; readonly epoch: string | undefined; readonly still: number }
  >(MOST_KNOWN)
  return {
    windowIn({ key, epoch, load, usage }) {
      const { input, cacheRead } = usage
      if (cacheRead > 0 || input < LEAST_WINDOW) return undefined
      if (looksTruncated({ count: load }, usage)) return input
      const last = known.get(key)
      const continues = last !== undefined && last.epoch === epoch
      // The load builds on the last count, so this is what came since.
      const grew = continues && load.tokens - last.input > last.input * GROWTH
      const still = grew && Math.abs(input - last.input) <= last.input * STILL ? last.still + 1 : 0
      known.set(key, { input, epoch, still })
      return still < TIMES_STILL ? undefined : Math.max(input, last!.input)
    },
  }
}

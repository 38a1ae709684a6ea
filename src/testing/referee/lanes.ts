import { totalOf } from './judge.ts'
import type { PrefixReport } from './log.ts'
import type { ChainedPrompt } from './prompt-cache.ts'

/** The newest answered prompt of each conversation; the next one is compared with it. */
export function createLanes() {
  const lanes = new Map<string, { readonly number: number; readonly chain: readonly string[] }>()
  return {
    /** How a prompt continues the previous one of its lane, which it then replaces. */
    compare(lane: string, number: number, { segments, chain }: ChainedPrompt): PrefixReport | undefined {
      const previous = lanes.get(lane)
      lanes.set(lane, { number, chain })
      if (previous === undefined) return undefined
      const shorter = Math.min(chain.length, previous.chain.length)
      let common = 0
      while (common < shorter && chain[common] === previous.chain[common]) common += 1
      // A shorter prompt that is a prefix of the old one (a rewind) still reads from the cache: no break.
      const broke = common < shorter
      return {
        previous: previous.number,
        segments: chain.length,
        previousSegments: previous.chain.length,
        common,
        commonTokens: totalOf(segments.slice(0, common)),
        broke,
        ...(broke && { at: segments[common]?.path ?? '' }),
      }
    },
  }
}

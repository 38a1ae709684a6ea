import { recordedCache } from '../../src/lab/inspect/inspect.ts'
import type { Recording } from '../../src/lab/transcripts/recording.ts'
import { CacheLives } from '../../src/meter/index.ts'
import type { Catalogue } from '../../src/ports/catalogue.ts'

/** Holds what was predicted of each recorded call against what its usage shows: cold is what read less than half of what was there to read. */
export function sayPredictions(recordings: readonly Recording[], catalogue: Catalogue, each: boolean): void {
  const lives = new CacheLives()
  const sums = new Map<string, number>()
  const causes = new Map<string, number>()
  const add = (to: Map<string, number>, key: string, by = 1): unknown => to.set(key, (to.get(key) ?? 0) + by)
  for (const recording of recordings) {
    for (const { call, usage, seen } of recordedCache(
      recording,
      (model) => catalogue.resolve(model).info.price,
      lives,
    )) {
      if (seen.expected === 0) continue
      const shown = usage.cacheRead < seen.expected / 2 ? 'cold' : 'warm'
      add(sums, `${seen.predicted}, was ${shown}`)
      add(sums, 'all')
      // Where the head was still read, the cache was there: the client had changed what stood behind it, which recordings do not show.
      if (usage.cacheRead === 0) add(sums, `nothing read, ${seen.predicted}`)
      if (seen.miss !== undefined) add(causes, seen.miss.cause, seen.miss.tokens)
      if (each && seen.predicted !== shown)
        console.info(
          `  ${recording.file.split('/').at(-1) ?? ''} call ${call}: ${seen.predicted}, was ${shown}; age ${Math.round(seen.ageSeconds)} s, ${usage.cacheRead} of ${seen.expected} read; ${JSON.stringify(seen.miss ?? {})}`,
        )
    }
  }
  const of = (key: string): number => sums.get(key) ?? 0
  const right = of('warm, was warm') + of('cold, was cold')
  const unknown = of('unknown, was warm') + of('unknown, was cold')
  const cold = of('cold, was cold') + of('warm, was cold') + of('unknown, was cold')
  const share = (part: number, all: number): string => `${((100 * part) / Math.max(1, all)).toFixed(1)} %`
  console.info(
    `${of('all')} calls: ${share(right, of('all'))} right, ${share(unknown, of('all'))} unknown; ${cold} cold, ${share(of('cold, was cold'), cold)} of them predicted`,
  )
  const none = of('nothing read, cold') + of('nothing read, warm') + of('nothing read, unknown')
  console.info(`of ${none} calls that read nothing at all, ${share(of('nothing read, cold'), none)} were predicted`)
  console.info([...causes].map(([cause, tokens]) => `${cause} ${tokens}`).join(', '))
}

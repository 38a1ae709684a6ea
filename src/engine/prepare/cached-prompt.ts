import type { Target } from '../../core/target.ts'
import type { EngineDeps } from '../deps.ts'
import type { BranchLog } from '../session/branch/branch-log.ts'

/** What providers ask for at least where the catalogue has no number. */
const LEAST_TOKENS = 1_024

/**
 * Whether a provider may hold the last request of this branch in its prompt cache, so that a change in front of it would be paid for: not
 * where the prompt was too short for it, or the model has no cache. How long a cache lives is the client's choice with some, so age is no
 * evidence.
 */
export function mayBeCached(
  { catalogue }: Pick<EngineDeps, 'catalogue'>,
  { measured, cacheIsWarm }: Pick<BranchLog, 'measured' | 'cacheIsWarm'>,
  { model }: Target,
): boolean {
  if (cacheIsWarm) return true
  const { price } = catalogue.resolve(model).info
  if (price?.cacheRead === undefined || price.caching === 'none') return false
  return measured === undefined || measured.prompt >= (price.cacheMinimum ?? LEAST_TOKENS)
}

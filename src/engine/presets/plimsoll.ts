import type { Policy } from '../../core/policy.ts'
import { CAUTION } from './shared.ts'

/**
 * The default. Everything is sent whole until the window is nearly full; then one deep epoch puts a record
 * in the place of the old steps. Few deep cuts cost less under prompt caching than many small ones.
 */
export const plimsoll: Policy = {
  name: 'plimsoll',
  // Compaction starts at 97 % of the limit, by the upper bound of its count, and aims at half of what instructions and tools leave of the limit.
  water: { high: 0.97, low: 0.5, lowOf: 'history', lowBy: 'tokens', warn: 0.8, rest: 0.1 },
  buffer: { fraction: 0.02, min: 256, max: 4_096 },
  caution: CAUTION,
  priceGate: true,
  recallShare: 0.015,
  summaries: { via: 'out-of-band', calls: 2 },
  lowerOutput: { minTokens: 8_192, minShare: 0.2 },
  // Parallel results together take three quarters of the limit at most: beside instructions and task, more would not fit anyway, and
  // what an epoch would have to squeeze need not be sent whole first.
  intake: { maxShare: 0.25, previewShare: 0.06, budget: { turnShare: 0.75 } },
  cascade: [
    // Without a model the whole record is code's: passages keep what an account would lose.
    { step: 'fold', tailShare: 0.05, summaryShare: 0.52, modelShare: 0.2 },
    { step: 'squeeze', floorTokens: 120 },
  ],
}

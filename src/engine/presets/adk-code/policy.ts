import type { Policy } from '../../../core/policy.ts'
import { ADK_CODE_TRIGGERS } from './guard.ts'
import { CAUTION } from '../environment.ts'
import { ADK_CODE_PRICES } from './prices.ts'

/**
 * adk-code ADR-0006 (Go): head + tail of each output, tokens per turn, compaction above 70 % of the window to initial context +
 * summary of the user's intent + the last 10 messages.
 *
 * Choices: strictly above 70 % of the whole window; 10 % of it is held back for the answer where the window holds the answer too, and nothing
 * above 95 % of it leaves on any wire. "50K to below 5K" and
 * "the last 10 in full" cannot both hold: where the last 10 are small the first does, else they win up to low water (a tenth of the
 * window) and the largest of them become handles.
 *
 * Deviations, with the promise that each keeps: assistant and tool content is archived instead of vanishing (3); call and result
 * stay together (2); what comes in while a summary is written stays behind it (4); the facts of the work are carried beside the two
 * or three sentences (8); turns remaining come from the growth of the load, not from the sum of all prompts (9).
 */
export const adkCode = (): Policy => ({
  name: 'adk-code',
  water: { of: 'window', high: 0.7, low: 0.1, warn: 0.6, rest: 0.05, by: 'tokens' },
  buffer: { fraction: 0, min: 0, max: 0 },
  reserve: 0.1,
  stop: 0.95,
  caution: CAUTION,
  defaultWindow: 1_000_000,
  intake: { maxShare: 0.25, previewShare: 0.1, guard: { design: 'adk-code', ...ADK_CODE_TRIGGERS } },
  estimator: { design: 'adk-code' },
  prices: ADK_CODE_PRICES,
  cascade: [
    {
      step: 'summarise',
      scope: 'middle',
      tail: 10,
      style: 'intent',
      share: { of: 'limit', value: 0.05 },
      maxTokens: 1_000,
    },
    { step: 'squeeze', floorTokens: 120, above: 0.105, to: 0.1 },
    { step: 'squeeze', floorTokens: 120 },
  ],
})

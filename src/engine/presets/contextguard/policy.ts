import type { Policy } from '../../../core/policy.ts'

/**
 * contextguard (Go, ADK): the threshold strategy. Calibrated bytes / 4 against window - buffer; at the line everything becomes one
 * summary and a continuation.
 *
 * Choices where the document contradicts itself: a window of exactly 200,000 has the fixed buffer (20,000), the default factor is
 * 2.5 (2.0 and 1.5 are also written), three passes; the line itself compacts.
 *
 * Deviations, with the promise that each keeps: the open tool step and pending calls stay (7); the continuation quotes the request
 * whole up to a quarter of the limit, and its first and last 2,000 bytes beyond (1) and stays in place afterwards (5); arguments and results reach the summarizer (8);
 * a later summary is written from the archive, not from its predecessor, so that no mistake is summarised again (8);
 * code carries task, plan, refusals and files through (8); a summary that is rejected or does not fit gives way to the excerpts,
 * which are capped (1, 6); the third compaction in a row does not happen (6); a result of the open step that is larger than the
 * window is shown as preview + handle (1).
 */
export const contextguard: Policy = {
  name: 'contextguard',
  water: {
    high: 1,
    low: 0.1,
    warn: 0.8,
    rest: 0.05,
    inclusive: true,
    by: 'tokens',
    margin: { from: 200_000, tokens: 20_000, share: 0.2 },
  },
  buffer: { fraction: 0, min: 0, max: 0 },
  reserve: 'wire',
  // Every result comes in as it is; what is too large for the window is the cascade's work.
  intake: { maxShare: Infinity, previewShare: 0.25 },
  estimator: { design: 'contextguard', defaultFactor: 2.5, clamp: [1, 5] },
  passes: 3,
  // One call; what is above 80 % of the summarizer's window leaves its oldest lines out.
  summaries: { parts: false },
  cascade: [
    {
      step: 'summarise',
      scope: 'all',
      tail: 0,
      style: 'handover',
      share: { of: 'margin', value: 0.5 },
      continuation: 'quote',
    },
    { step: 'squeeze', floorTokens: 40, above: 0.7, to: 0.5 },
    { step: 'squeeze', floorTokens: 40 },
  ],
}

/**
 * contextguard's second strategy: more than `maxTurns` messages since the last compaction; the newest 30 % (at least 3) stay whole.
 *
 * Deviations: the watermark is where the kept tail begins, not the end of the history (3: the original lost the tail with the next
 * call); a summarizer that fails is replaced by excerpts instead of failing the call (1); where the kept tail alone is too large, its
 * largest parts become preview + handle instead of halving the tail (7).
 */
export const slidingWindow = (maxTurns = 20): Policy => ({
  ...contextguard,
  name: 'contextguard-window',
  water: { ...contextguard.water, messages: maxTurns + 1, messagesSince: 'summary' },
  cascade: [
    {
      step: 'summarise',
      scope: 'middle',
      tail: Math.max(3, Math.floor(maxTurns * 0.3)),
      always: true,
      style: 'handover',
      share: { of: 'margin', value: 0.5 },
    },
    { step: 'squeeze', floorTokens: 40, above: 0.7, to: 0.5 },
    { step: 'squeeze', floorTokens: 40 },
  ],
})

export const contextguardWindow: Policy = slidingWindow()

import type { Conversation } from '../../../core/conversation.ts'
import { type Count, exactly } from '../../../core/count.ts'
import type { EstimatorRule } from '../../../core/policy.ts'
import type { Anchor, Meter } from '../../../meter/index.ts'
import type { DesignMeter } from '../design.ts'
import { contextguardCalibrated, contextguardHeuristic } from './estimate.ts'

/** Bytes / 4 times what the provider's numbers showed, and never below them. Cautious enough to decide what may leave, too. */
export function contextguardMeter(base: Meter, rule: EstimatorRule): DesignMeter {
  const { defaultFactor = 2.5, clamp = [1, 5] } = rule
  const raw = (conversation: Pick<Conversation, 'head' | 'items' | 'tools'>): Count =>
    exactly(contextguardHeuristic.estimate(conversation as Conversation), 'estimate')
  const factor = (last: Anchor | undefined): number =>
    last === undefined || last.prompt <= 0 || last.rawTokens <= 0
      ? defaultFactor
      : Math.min(clamp[1], Math.max(clamp[0], last.prompt / last.rawTokens))
  return {
    ...base,
    countText: (_, text) => exactly(Math.floor(Buffer.byteLength(text) / 4), 'estimate'),
    countItem: (_, item) => raw({ head: [], items: [item], tools: [] }),
    measure(target, conversation, bytes, lastUsage) {
      const measured = base.measure(target, conversation, bytes, lastUsage)
      const count = raw(conversation)
      return { ...measured, raw: count, count }
    },
    design: {
      factor,
      load({ gauge, conversation, measurement, last, anchor }) {
        const tokens = contextguardCalibrated(
          measurement.raw.tokens,
          // After a rewrite the ratio still holds; the old prompt's size does not.
          anchor === undefined ? {} : { realTokens: anchor.prompt, lastHeuristic: anchor.rawTokens },
          { defaultFactor: anchor === undefined ? factor(last) : defaultFactor, clamp },
        )
        // What may leave is held by our own bound as well: a provider's count of an easy prompt says little about a dense one.
        const bound = base.measure(gauge, conversation, measurement.bytes).count.high
        const count = exactly(tokens, 'calibrated')
        return { ...measurement, count: last === undefined ? count : { ...count, high: Math.max(tokens, bound) } }
      },
      // Until a provider has counted anything the factor is a guess.
      certain: ({ gauge, conversation, measurement, last }) =>
        last === undefined ? base.measure(gauge, conversation, measurement.bytes) : undefined,
    },
  }
}

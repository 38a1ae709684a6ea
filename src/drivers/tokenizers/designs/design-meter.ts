import type { Conversation } from '../../../core/conversation.ts'
import { type Count, exactly } from '../../../core/count.ts'
import type { DesignName, EstimatorRule } from '../../../core/policy.ts'
import type { Anchor, DesignArithmetic, Meter } from '../../../meter/index.ts'
import type { Tokenizer } from '../../../ports/tokenizer.ts'
import { adkCodeEstimator } from './adk-code.ts'
import { aiAgentEstimator, aiAgentSchemaTokens } from './ai-agent.ts'
import { autosreSliding } from './autosre.ts'
import { contextguardCalibrated, contextguardHeuristic } from './contextguard.ts'
import { cyberEstimate } from './cyber-autoagent.ts'

export interface DesignMeter extends Meter {
  readonly design: DesignArithmetic
}

export interface DesignMeterOptions {
  readonly tokenizerOf: (id: string) => Tokenizer
  /** The formula alone decides. */
  readonly asDesigned?: boolean
}

/**
 * A meter that decides by a source design's formula. `count.tokens` is the design's number, which says when to act; `count.high` is
 * what may leave, and there our own meter decides: four of the five count no framing, no tools or only constants. contextguard's own
 * number is cautious enough for both.
 */
export function designMeter(base: Meter, rule: EstimatorRule, options: DesignMeterOptions): DesignMeter {
  return rule.design === 'contextguard' ? contextguardMeter(base, rule, options) : plainMeter(base, rule, options)
}

/** contextguard: bytes / 4 times what the provider's numbers showed, and never below them. */
function contextguardMeter(base: Meter, rule: EstimatorRule, { asDesigned = false }: DesignMeterOptions): DesignMeter {
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
      load({ measurement, last, anchor }) {
        const tokens = contextguardCalibrated(
          measurement.raw.tokens,
          // After a rewrite the ratio still holds; the old prompt's size does not.
          anchor === undefined ? {} : { realTokens: anchor.prompt, lastHeuristic: anchor.rawTokens },
          { defaultFactor: anchor === undefined && !asDesigned ? factor(last) : defaultFactor, clamp },
        )
        return { ...measurement, count: exactly(tokens, 'calibrated') }
      },
      // Until a provider has counted anything the factor is a guess.
      certain: ({ gauge, conversation, measurement, last }) =>
        last === undefined ? base.measure(gauge, conversation, measurement.bytes) : undefined,
    },
  }
}

function plainMeter(base: Meter, rule: EstimatorRule, options: DesignMeterOptions): DesignMeter {
  const estimate = estimateOf(rule, options)
  return {
    ...base,
    design: {
      factor: () => 1,
      load({ target, conversation, occupancy }) {
        const { count, measured } = occupancy
        const formula = estimate(conversation, target.model)
        // Where a measured prompt is part of the request, it is worth more than the formula.
        const tokens = measured === undefined ? formula : Math.max(formula, count.tokens)
        return { ...occupancy, count: { ...count, tokens } }
      },
      certain: () => undefined,
    },
  }
}

type Estimate = (conversation: Conversation, model: string) => number

const ESTIMATES: Readonly<Record<Exclude<DesignName, 'contextguard' | 'ai-agent'>, Estimate>> = {
  // The window's estimate (characters / 4); the brake has a ratio of its own, which is data of its step.
  autosre: (conversation) => autosreSliding.estimate(conversation),
  'cyber-autoagent': (conversation, model) => cyberEstimate(conversation, model) ?? 0,
  'adk-code': (conversation) => adkCodeEstimator.estimate(conversation),
}

function estimateOf({ design, tokenizers = [] }: EstimatorRule, { tokenizerOf }: DesignMeterOptions): Estimate {
  if (design === 'contextguard') return (conversation) => contextguardHeuristic.estimate(conversation)
  if (design !== 'ai-agent') return ESTIMATES[design]
  const counters = tokenizers.map(tokenizerOf)
  const estimator = aiAgentEstimator(counters)
  return (conversation) => estimator.estimate(conversation) + aiAgentSchemaTokens(conversation.tools, counters)
}

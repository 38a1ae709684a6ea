import type { Conversation } from '../../../core/conversation.ts'
import type { EstimatorRule } from '../../../core/policy.ts'
import {
  addFresh,
  answerLength,
  commitRequest,
  projectedTokens,
  setSchema,
  settleResponse,
  startCounters,
  type Anchor,
  type Counters,
  type Meter,
} from '../../../meter/index.ts'
import type { Tokenizer } from '../../../ports/tokenizer.ts'
import type { DesignMeter, EstimateOptions } from '../design.ts'
import { aiAgentEstimator, aiAgentSchemaTokens } from './estimate.ts'

/**
 * The guard's projection: current + pending + new + schema. Until a response has measured anything, the whole conversation is pending and the
 * schema is an estimate; after one, its input and output are current, and only what came since is new. What may leave is decided by our own
 * upper bound.
 */
export function aiAgentMeter(base: Meter, { tokenizers = {} }: EstimatorRule, options: EstimateOptions): DesignMeter {
  const tokenizersOf = (model: string): readonly Tokenizer[] => {
    const id = tokenizers[model] ?? tokenizers['*']
    return id === undefined ? [] : [options.tokenizerOf(id)]
  }
  return {
    ...base,
    design: {
      factor: () => 1,
      load({ target, conversation, occupancy, anchor }) {
        const counters = countersOf(conversation, anchor, tokenizersOf(target.model))
        return { ...occupancy, counters, count: { ...occupancy.count, tokens: projectedTokens(counters) } }
      },
      certain: () => undefined,
    },
  }
}

function countersOf(
  conversation: Conversation,
  anchor: Anchor | undefined,
  tokenizers: readonly Tokenizer[],
): Counters {
  const estimator = aiAgentEstimator(tokenizers)
  const schema = aiAgentSchemaTokens(conversation.tools, tokenizers)
  // Fewer items than were measured: what was measured is no longer there.
  if (anchor === undefined || conversation.items.length < anchor.items)
    return startCounters(estimator.estimate(conversation), schema)
  const { prompt: input, output, reasoning } = anchor
  const measured = settleResponse(commitRequest(startCounters(0, schema)), {
    input,
    output,
    reasoning,
    cacheRead: 0,
    cacheWrite: 0,
  })
  const since = conversation.items.slice(anchor.items)
  const fresh = estimator.estimate({ ...conversation, head: [], items: since.slice(answerLength(since)) })
  return setSchema(addFresh(measured, fresh), schema)
}

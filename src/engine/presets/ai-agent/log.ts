import type { EventBody } from '../../../core/events.ts'
import { percentFull, projectedTokens } from '../../../meter/index.ts'
import type { PrepareContext, View } from '../../prepare/context.ts'

/** The design's debug topics, with the numbers that led to the verdict. */
export function debugLines(context: PrepareContext, view: View, verdict: string): EventBody[] {
  const { deps, target, limit, branch } = context
  const { counters } = view.estimate
  if (deps.policy.debug !== true || counters === undefined) return []
  const projected = projectedTokens(counters)
  const named = { provider: target.provider ?? context.conversation.format, model: target.model }
  const counts = {
    currentCtxTokens: counters.current,
    pendingCtxTokens: counters.pending,
    newCtxTokens: counters.fresh,
    schemaCtxTokens: counters.schema,
  }
  const blocked = verdict === 'proceed' ? [] : [{ ...named, limit: limit.tokens, projected }]
  const topics: Readonly<Record<string, object>> = {
    'init-counters': counts,
    'loop-init': {
      turn: Math.max(branch.log.turns, branch.turns.count) + 1,
      seedTokens: counters.pending + counters.current,
    },
    'schema-estimate': { schemaCtxTokens: counters.schema },
    evaluate: {
      projectedTokens: projected,
      ...counts,
      extraTokens: 0,
      currentReasoningTokens: counters.reasoning,
    },
    'evaluate-target': {
      ...named,
      contextWindow: limit.window,
      bufferTokens: limit.buffer,
      maxOutputTokens: limit.outputReserve,
      limit: limit.tokens,
    },
    'provider-eval': { ...named, status: verdict === 'proceed' ? 'ok' : verdict, blocked },
    'build-metrics': {
      expectedTokens: projected,
      percent: percentFull(counters, limit.window),
    },
    ...(blocked.length > 0 && { enforce: { reason: 'context', blocked } }),
  }
  return Object.entries(topics).map(([topic, fields]) => ({
    type: 'warning',
    topic: `context-guard/${topic}`,
    message: JSON.stringify(fields),
  }))
}

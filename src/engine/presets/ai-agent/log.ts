import type { EventBody } from '../../../core/events.ts'
import type { PrepareContext, View } from '../../prepare/context.ts'

/** The design's debug topics, with the numbers that led to the verdict. */
export function debugLines(context: PrepareContext, view: View, verdict: string): EventBody[] {
  const { deps, target, limit, branch } = context
  if (deps.policy.debug !== true) return []
  const { parts, count } = { parts: view.measurement.parts, count: view.load.count }
  const { measured } = branch.log
  const current = measured === undefined ? 0 : measured.prompt + measured.output
  const projected = Math.ceil(count.tokens)
  const schema = Math.ceil(parts.tools)
  const counters = {
    currentCtxTokens: current,
    pendingCtxTokens: current === 0 ? projected : 0,
    newCtxTokens: current === 0 ? 0 : Math.max(0, projected - current),
    schemaCtxTokens: schema,
  }
  const blocked = verdict === 'proceed' ? [] : [{ model: target.model, limit: limit.tokens, projected }]
  const topics: Readonly<Record<string, object>> = {
    'init-counters': counters,
    'loop-init': {
      turn: Math.max(branch.log.turns, branch.turns.count) + 1,
      seedTokens: Math.ceil(parts.head + parts.items),
    },
    'schema-estimate': { schemaCtxTokens: schema },
    evaluate: { projectedTokens: projected, ...counters, extraTokens: 0 },
    'evaluate-target': {
      model: target.model,
      contextWindow: limit.window,
      bufferTokens: limit.buffer,
      maxOutputTokens: limit.outputReserve,
      limit: limit.tokens,
    },
    'provider-eval': { model: target.model, status: verdict === 'proceed' ? 'ok' : verdict, blocked },
    'build-metrics': {
      expectedTokens: projected,
      percent: Math.min(100, Math.round((100 * projected) / limit.window)),
    },
    ...(blocked.length > 0 && { enforce: { reason: 'context', blocked } }),
  }
  return Object.entries(topics).map(([topic, fields]) => ({
    type: 'warning',
    topic: `context-guard/${topic}`,
    message: JSON.stringify(fields),
  }))
}

import type { EventBody } from '../core/events.ts'
import type { Epoch } from '../core/records.ts'
import type { PrepareContext, View } from './prepare/context.ts'
import { highWater, messagesOf } from './epoch/thresholds.ts'

/** What one reduction was, for the log lines of the designs. */
export interface Reduction {
  readonly before: View
  readonly after: View
  readonly epoch: Epoch
}

/** The words of a design's own log for a reduction; people who ran it grep for them. */
export function reductionLines(context: PrepareContext, { before, after, epoch }: Reduction): EventBody[] {
  const { policy } = context.deps
  const say = (message: string): EventBody => ({ type: 'warning', topic: policy.name, message })
  if (policy.estimator?.design !== 'cyber-autoagent') return []
  const threshold = Math.floor(highWater(policy, context.limit, context.branch.cacheIsWarm))
  const compressed = epoch.edits.filter((edit) => edit.op === 'replace').length
  const from = messagesOf(before.conversation.items)
  const to = messagesOf(after.conversation.items)
  return [
    say(`THRESHOLD EXCEEDED: context=${Math.ceil(before.load.count.tokens)}, threshold=${threshold}`),
    ...(compressed > 0 ? [say(`LAYER 2 COMPRESSION: Compressing ${compressed} tool result(s)`)] : []),
    say(`Context reduced via ${managerOf(epoch)} manager: messages ${from}->${to}`),
  ]
}

function managerOf({ edits }: Epoch): string {
  const summary = edits.some(
    (edit) => edit.op === 'insert' && edit.reason.includes('stands for') && !edit.reason.includes('window'),
  )
  if (summary) return 'summarizing'
  return edits.some((edit) => edit.op === 'drop') ? 'sliding' : 'mapping'
}

/** ai-agent's debug topics, with the numbers that led to the verdict. */
export function debugLines(context: PrepareContext, view: View, verdict: string): EventBody[] {
  const { deps, target, limit, branch } = context
  if (deps.policy.debug !== true) return []
  const { parts, count } = { parts: view.measurement.parts, count: view.load.count }
  const current = branch.last === undefined ? 0 : branch.last.prompt + branch.last.output
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
    'loop-init': { turn: branch.turnCount + 1, seedTokens: Math.ceil(parts.head + parts.items) },
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

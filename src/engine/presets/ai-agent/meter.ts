import type { Conversation } from '../../../core/conversation.ts'
import type { EventBody } from '../../../core/events.ts'
import type { ToolDeclaration } from '../../../core/item.ts'
import type { EstimatorRule } from '../../../core/policy.ts'
import type { Target } from '../../../core/target.ts'
import { answerLength, type Anchor, type DesignCounters, type Meter } from '../../../meter/index.ts'
import type { Tokenizer } from '../../../ports/tokenizer.ts'
import { messagesOf } from '../../epoch/thresholds.ts'
import { byteLength } from '../../intake/text.ts'
import type { PrepareContext, View } from '../../prepare/context.ts'
import type { DesignMeter, EstimateOptions } from '../design.ts'
import { declaredTool, type LoadEstimator } from '../shared.ts'

const PER_MESSAGE = 4
const PER_CALL = 2
const SCHEMA_FACTOR = 2.09

/** Tools that answer the user rather than act; their schemas count only when nothing else is declared. */
const OWN_TOOLS = /(^|__)(final_report|task_status)$/

/** The largest count that any target's tokenizer gives, and at least a token per four characters. */
function mostTokens(text: string, tokenizers: readonly Tokenizer[]): number {
  return Math.max(Math.ceil(text.length / 4), ...tokenizers.map((tokenizer) => Math.ceil(tokenizer.count(text).tokens)))
}

/** Role line, content, calls as JSON and call id of each message; 4 per message and 2 per call on top; never below bytes / 4. */
export const aiAgentEstimator =
  (tokenizers: readonly Tokenizer[]): LoadEstimator =>
  ({ head, items }) =>
    [...messagesOf(head), ...messagesOf(items)].reduce((sum, message) => {
      const content = message
        .filter(({ kind }) => kind !== 'call')
        .map(({ text }) => text)
        .join('\n')
      const calls = message
        .filter(({ kind }) => kind === 'call')
        .map(({ callId, toolName, text }) => ({ id: callId, name: toolName, parameters: text }))
      const callId = message.find(({ kind }) => kind === 'result')?.callId
      const role = message[0]!.role
      const text = [
        role,
        content,
        ...(calls.length === 0 ? [] : [JSON.stringify(calls)]),
        ...(callId === undefined ? [] : [callId]),
      ].join('\n')
      const serialised = JSON.stringify({
        role,
        content,
        toolCalls: calls.length > 0 ? calls : undefined,
        toolCallId: callId,
      })
      const tokens = Math.max(0, ...tokenizers.map((tokenizer) => Math.ceil(tokenizer.count(text).tokens)))
      const framed = tokens + PER_MESSAGE + PER_CALL * calls.length
      return sum + Math.max(framed, Math.ceil(byteLength(serialised) / 4))
    }, 0)

/** Schemas as the design counts them: name, description and schema as JSON, times 2.09, rounded up. */
export function aiAgentSchemaTokens(tools: readonly ToolDeclaration[], tokenizers: readonly Tokenizer[]): number {
  const acting = tools.filter(({ name }) => !OWN_TOOLS.test(name))
  const counted = acting.length > 0 ? acting : tools
  const total = counted.reduce(
    (sum, tool) => sum + mostTokens(JSON.stringify(declaredTool(tool.name, tool.text)), tokenizers),
    0,
  )
  return Math.ceil(total * SCHEMA_FACTOR)
}

/**
 * The guard's projection: current + pending + new + schema. Until a response has measured anything, the whole conversation is pending and the
 * schema is an estimate; after one, its input and output are current, and only what came since is new. What may leave is decided by our own
 * upper bound.
 */
export function aiAgentMeter(base: Meter, { tokenizers = {} }: EstimatorRule, options: EstimateOptions): DesignMeter {
  const named = Object.keys(tokenizers)
  const tokenizersOf = ({ model, provider }: Target): readonly Tokenizer[] => {
    const id =
      tokenizers[provider === undefined ? model : `${provider}/${model}`] ??
      tokenizers[model] ??
      // A target that names no provider is known by its model.
      (provider === undefined ? tokenizers[named.find((name) => name.endsWith(`/${model}`)) ?? '*'] : undefined) ??
      tokenizers['*']
    return id === undefined ? [] : [options.tokenizerOf(id)]
  }
  return {
    ...base,
    design: {
      factor: () => 1,
      load({ target, conversation, occupancy, anchor }) {
        const { counters, tokens } = projectionOf(conversation, anchor, tokenizersOf(target))
        return { ...occupancy, counters, count: { ...occupancy.count, tokens } }
      },
      certain: () => undefined,
    },
  }
}

function projectionOf(
  conversation: Conversation,
  anchor: Anchor | undefined,
  tokenizers: readonly Tokenizer[],
): { readonly counters: DesignCounters; readonly tokens: number } {
  const { items, tools } = conversation
  const estimate = aiAgentEstimator(tokenizers)
  const schema = aiAgentSchemaTokens(tools, tokenizers)
  // Fewer items than were measured: what was measured is no longer there.
  if (anchor === undefined || items.length < anchor.items) {
    const pending = estimate(conversation)
    return { counters: { current: 0, pending, fresh: 0, schema, reasoning: 0 }, tokens: pending + schema }
  }
  const { prompt, output, reasoning } = anchor
  const since = items.slice(anchor.items)
  const fresh = estimate({ head: [], items: since.slice(answerLength(since)) })
  const current = prompt + output
  // The measured prompt holds the schema: it is not added again.
  return { counters: { current, pending: 0, fresh, schema, reasoning }, tokens: current + fresh }
}

/** The design's debug topics, with the numbers that led to the verdict. */
export function debugLines(context: PrepareContext, view: View, verdict: string): EventBody[] {
  const { target, limit, branch } = context
  const { counters, count } = view.estimate
  if (counters === undefined) return []
  const projected = count.tokens
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
      percent: Math.min(100, Math.round((projected / limit.window) * 100)),
    },
    ...(verdict === 'final' ? { enforce: { reason: 'context', blocked } } : {}),
  }
  return Object.entries(topics).map(([topic, fields]) => ({
    type: 'warning',
    topic: `context-guard/${topic}`,
    message: JSON.stringify(fields),
  }))
}

import type { Usage } from '../../../core/usage.ts'
import { type Fields, listOf, recordsIn, textOf } from '../../../core/values.ts'
import type { AnswerPart } from '../brain.ts'
import { stopOf } from '../brain.ts'
import type { RenderContext, Rendered } from '../types.ts'
import { responseEvents } from './openai-responses-events.ts'
import { itemsOf, storedKey, wantsSeal } from './openai-responses-segments.ts'
import { reasoningKey } from './openai-responses-verify.ts'

export function renderResponses(context: RenderContext): Rendered {
  if (context.route.kind === 'compact') return { body: compacted(context), events: [] }
  const { body, facts, usage } = context
  const output = outputOf(context)
  const length = stopOf(context.answer) === 'length'
  const response = {
    id: context.id('resp'),
    object: 'response',
    created_at: context.nowSeconds,
    status: length ? 'incomplete' : 'completed',
    error: null,
    incomplete_details: length ? { reason: 'max_output_tokens' } : null,
    instructions: body.instructions ?? null,
    max_output_tokens: facts.maxOutput ?? null,
    model: facts.model,
    output,
    parallel_tool_calls: true,
    previous_response_id: body.previous_response_id ?? null,
    reasoning: body.reasoning ?? { effort: null, summary: null },
    store: body.store !== false,
    temperature: 1,
    text: { format: { type: 'text' } },
    tool_choice: body.tool_choice ?? 'auto',
    tools: listOf(body.tools),
    top_p: 1,
    truncation: 'disabled',
    usage: usage === undefined ? null : usageOf(usage),
    metadata: {},
  }
  remember(context, response.id, output)
  return { body: response, events: responseEvents(response) }
}

function outputOf(context: RenderContext): Fields[] {
  const items = context.answer.parts.map((part, index) => itemOf(context, part, index))
  const threshold = recordsIn(context.body.context_management).find(({ type }) => type === 'compaction')
  const limit = threshold?.compact_threshold
  return typeof limit === 'number' && context.inputTokens > limit ? [compactionItem(context), ...items] : items
}

/** One sealed item in place of a history. */
function compactionItem({ id, issuer, inputTokens }: RenderContext): Fields {
  const itemId = id('cmp')
  const tokens = Math.ceil(inputTokens * COMPACTED_SHARE)
  return { id: itemId, type: 'compaction', encrypted_content: issuer.seal(itemId, { tokens }) }
}

function itemOf({ id, issuer, body, countTokens }: RenderContext, part: AnswerPart, index: number): Fields {
  if (part.type === 'call') {
    const callId = part.id ?? id('call', index)
    const text = JSON.stringify(part.input)
    return {
      id: id('fc', index),
      type: 'function_call',
      status: 'completed',
      call_id: callId,
      name: part.name,
      arguments: text,
    }
  }
  if (part.type === 'reasoning') {
    const itemId = id('rs', index)
    const sealed = wantsSeal(body) ? { encrypted_content: issuer.seal(itemId, { tokens: countTokens(part.text) }) } : {}
    const summary = part.redacted === true ? [] : [{ type: 'summary_text', text: part.text }]
    return { id: itemId, type: 'reasoning', summary, ...sealed }
  }
  const content =
    part.type === 'refusal'
      ? { type: 'refusal', refusal: part.text }
      : { type: 'output_text', annotations: [], logprobs: [], text: part.text }
  return { id: id('msg', index), type: 'message', status: 'completed', role: 'assistant', content: [content] }
}

function remember({ body, memory }: RenderContext, id: string, output: readonly Fields[]): void {
  output.forEach((item, index) => {
    const before = output[index - 1]
    if (before?.type === 'reasoning') memory.set(reasoningKey(textOf(item.id)), textOf(before.id))
  })
  if (body.store === false) return
  memory.set(storedKey(id), { items: [...itemsOf(body, memory), ...output] })
}

const usageOf = (usage: Usage): Fields => ({
  input_tokens: usage.input,
  input_tokens_details: { cached_tokens: usage.cacheRead, cache_write_tokens: 0 },
  output_tokens: usage.output,
  output_tokens_details: { reasoning_tokens: usage.reasoning },
  total_tokens: usage.input + usage.output,
})

// A compacted history stands for about this share of what it replaced.
const COMPACTED_SHARE = 0.1

/** All user messages, then one sealed item in place of everything else. */
function compacted(context: RenderContext): Fields {
  const { body, memory, id, usage, nowSeconds } = context
  const items = itemsOf(body, memory)
  const users = items.filter((item) => (item.type === undefined || item.type === 'message') && item.role === 'user')
  return {
    id: id('resp'),
    object: 'response.compaction',
    created_at: nowSeconds,
    output: [...users, compactionItem(context)],
    usage: usage === undefined ? null : usageOf(usage),
  }
}

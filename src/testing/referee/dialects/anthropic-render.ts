import type { StreamEvent, StopReason } from '../../../core/codec.ts'
import type { Usage } from '../../../core/usage.ts'
import { traitsOf } from '../../../formats/anthropic-messages/model-traits.ts'
import { type Fields, isRecord, recordsIn } from '../../../core/values.ts'
import type { AnswerPart } from '../brain.ts'
import { stopOf } from '../brain.ts'
import { chainOf } from '../prompt-cache.ts'
import type { RenderContext, Rendered } from '../types.ts'
import { describeBlock } from './anthropic-segments.ts'
import { isThinkingBlock, issuedKey } from './anthropic-verify.ts'
import { pieces } from './pieces.ts'

const STOPS: Record<StopReason, string> = {
  end: 'end_turn',
  length: 'max_tokens',
  'tool-use': 'tool_use',
  refusal: 'refusal',
  pause: 'pause_turn',
  error: 'end_turn',
  unknown: 'end_turn',
}

export function renderAnthropic(context: RenderContext): Rendered {
  const content = contentOf(context)
  remember(context, content)
  const message = {
    id: context.id('msg'),
    type: 'message',
    role: 'assistant',
    model: context.facts.model,
    content,
    stop_reason: STOPS[stopOf(context.answer)],
    stop_sequence: null,
    ...(context.dropped.length > 0 && { input_transformations: context.dropped.map(droppedEntry) }),
  }
  const usage = context.usage === undefined ? {} : { usage: usageOf(context.usage) }
  return { body: { ...message, ...usage }, events: eventsOf(context, message) }
}

const droppedEntry = (path: string): Fields => ({
  type: 'thinking_dropped',
  reason: 'prefix_binding_mismatch',
  path,
})

function contentOf(context: RenderContext): Fields[] {
  const { facts, body, answer } = context
  const blocks: Fields[] = []
  const keys = facts.segments.map(({ key, section }) => ({ key, section: section as string }))
  const summary = compactionOf(context)
  if (summary !== undefined) {
    // From here on the provider knows tools, system and the summary; what comes next is bound to these.
    keys.splice(0, keys.length, ...keys.filter(({ section }) => section !== 'messages'))
    keys.push({ key: `assistant ${describeBlock(summary).key}`, section: 'messages' })
    blocks.push(summary)
  }
  const manual = isRecord(body.thinking) && body.thinking.type === 'enabled'
  const thinks = answer.parts[0]?.type === 'reasoning'
  // Manual thinking always thinks first; a script that forgets it would make its own next request invalid.
  const parts: AnswerPart[] = manual && !thinks ? [{ type: 'reasoning', text: 'Let me think.' }] : []
  for (const [index, part] of [...parts, ...answer.parts].entries()) {
    const block = blockOf(context, part, index, () => chainOf(keys).at(-1) ?? '')
    if (block === undefined) continue
    keys.push({ key: `assistant ${describeBlock(block).key}`, section: 'messages' })
    blocks.push(block)
  }
  return blocks
}

const DEFAULT_TRIGGER = 150_000

/** The provider's own compaction, when the request asks for it and the prompt is past its trigger. */
function compactionOf({ body, issuer, inputTokens }: RenderContext): Fields | undefined {
  const management = isRecord(body.context_management) ? body.context_management : {}
  const edit = recordsIn(management.edits).find(({ type }) => typeof type === 'string' && type.startsWith('compact_'))
  if (edit === undefined) return undefined
  const trigger =
    isRecord(edit.trigger) && typeof edit.trigger.value === 'number' ? edit.trigger.value : DEFAULT_TRIGGER
  if (inputTokens <= trigger) return undefined
  const content = `Summary of ${inputTokens} tokens of conversation.`
  return { type: 'compaction', content, encrypted_content: issuer.seal(content) }
}

function blockOf(
  { id, issuer, facts, countTokens }: RenderContext,
  part: AnswerPart,
  index: number,
  prefix: () => string,
): Fields | undefined {
  if (part.type === 'text' || part.type === 'refusal') {
    return part.text === '' ? undefined : { type: 'text', text: part.text }
  }
  if (part.type === 'call') {
    return { type: 'tool_use', id: part.id ?? id('toolu', index), name: part.name, input: part.input }
  }
  const binding = {
    model: facts.model,
    tokens: countTokens(part.text),
    ...(traitsOf(facts.model).bindsThinking === true && { prefix: prefix() }),
  }
  if (part.redacted === true) return { type: 'redacted_thinking', data: issuer.seal('', binding) }
  return { type: 'thinking', thinking: part.text, signature: issuer.seal(part.text, binding) }
}

/** Kept so that the next request can be held to the thinking it was given. */
function remember({ memory }: RenderContext, content: readonly Fields[]): void {
  const blocks = content.filter(isThinkingBlock).map((block) => describeBlock(block).key)
  for (const block of content) if (block.type === 'tool_use') memory.set(issuedKey(String(block.id)), { blocks })
}

/** Anthropic reports input without what came from the cache or went into it. */
function usageOf(usage: Usage): Fields {
  const long = usage.cacheWriteLong ?? 0
  return {
    input_tokens: Math.max(0, usage.input - usage.cacheRead - usage.cacheWrite),
    cache_creation_input_tokens: usage.cacheWrite,
    cache_read_input_tokens: usage.cacheRead,
    cache_creation: { ephemeral_5m_input_tokens: usage.cacheWrite - long, ephemeral_1h_input_tokens: long },
    output_tokens: usage.output,
    output_tokens_details: { thinking_tokens: usage.reasoning },
    service_tier: 'standard',
  }
}

const event = (type: string, fields: Fields): StreamEvent => ({
  event: type,
  data: JSON.stringify({ type, ...fields }),
})

function eventsOf({ usage, usageAtEnd }: RenderContext, message: Fields & { content: Fields[] }): StreamEvent[] {
  const { content, stop_reason, stop_sequence, ...head } = message
  const full = usage === undefined ? {} : usageOf(usage)
  const early = usage === undefined ? {} : { usage: usageAtEnd ? zeroUsage : { ...full, output_tokens: 1 } }
  const started = { ...head, content: [], stop_reason: null, stop_sequence: null, ...early }
  const ended = usageAtEnd ? full : { output_tokens: usage?.output ?? 0 }
  return [
    event('message_start', { message: started }),
    ...content.flatMap((block, index) => [
      event('content_block_start', { index, content_block: emptied(block) }),
      ...deltasOf(block).map((delta) => event('content_block_delta', { index, delta })),
      event('content_block_stop', { index }),
    ]),
    event('message_delta', { delta: { stop_reason, stop_sequence }, ...(usage !== undefined && { usage: ended }) }),
    event('message_stop', {}),
  ]
}

const zeroUsage = { input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 0 }

function emptied(block: Fields): Fields {
  if (block.type === 'text') return { ...block, text: '' }
  if (block.type === 'thinking') return { ...block, thinking: '', signature: '' }
  if (block.type === 'compaction') return { ...block, content: '' }
  return block.type === 'tool_use' ? { ...block, input: {} } : block
}

function deltasOf(block: Fields): Fields[] {
  if (block.type === 'text') return pieces(String(block.text)).map((text) => ({ type: 'text_delta', text }))
  if (block.type === 'tool_use') {
    return pieces(JSON.stringify(block.input)).map((partial_json) => ({ type: 'input_json_delta', partial_json }))
  }
  if (block.type === 'compaction') return [{ type: 'compaction_delta', content: block.content }]
  if (block.type !== 'thinking') return []
  return [
    ...pieces(String(block.thinking)).map((thinking) => ({ type: 'thinking_delta', thinking })),
    { type: 'signature_delta', signature: block.signature },
  ]
}

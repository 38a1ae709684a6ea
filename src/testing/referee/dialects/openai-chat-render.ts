import type { StreamEvent, StopReason } from '../../../core/codec.ts'
import type { Usage } from '../../../core/usage.ts'
import { SSE_DONE } from '../../../formats/framing/sse.ts'
import type { Fields } from '../../../core/values.ts'
import { profilesOf } from '../../../formats/kit/rule-kit.ts'
import type { AnswerPart } from '../brain.ts'
import { stopOf } from '../brain.ts'
import type { RenderContext, Rendered } from '../types.ts'
import { pieces } from './pieces.ts'

const STOPS: Record<StopReason, string> = {
  end: 'stop',
  length: 'length',
  'tool-use': 'tool_calls',
  refusal: 'stop',
  pause: 'stop',
  error: 'stop',
  unknown: 'stop',
}

export function renderChat(context: RenderContext): Rendered {
  const { facts, answer, usage, nowSeconds } = context
  const head = { id: context.id('chatcmpl'), created: nowSeconds, model: facts.model }
  const finish_reason = STOPS[stopOf(answer)]
  const message = messageOf(context)
  const body = {
    ...head,
    object: 'chat.completion',
    choices: [{ index: 0, message, logprobs: null, finish_reason }],
    ...(usage !== undefined && { usage: usageOf(usage) }),
  }
  return { body, events: eventsOf(context, { ...head, object: 'chat.completion.chunk' }, finish_reason) }
}

const joined = (parts: readonly AnswerPart[], type: 'text' | 'reasoning' | 'refusal'): string =>
  parts.map((part) => (part.type === type ? part.text : '')).join('')

function messageOf(context: RenderContext): Fields {
  const { parts } = context.answer
  const text = joined(parts, 'text')
  const refusal = joined(parts, 'refusal')
  const reasoning = joined(parts, 'reasoning')
  const toolCalls = callsOf(context)
  return {
    role: 'assistant',
    content: text === '' && (toolCalls.length > 0 || refusal !== '') ? null : text,
    refusal: refusal === '' ? null : refusal,
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
  }
}

interface ChatCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

function callsOf({ answer, id, profile }: RenderContext): ChatCall[] {
  // Mistral issues nine characters, and takes back nothing else.
  const short = profilesOf(profile).has('mistral')
  return answer.parts.flatMap((part, index) => {
    if (part.type !== 'call') return []
    const own = id('call', index)
    const callId = part.id ?? (short ? own.slice(-9) : own)
    return [
      { id: callId, type: 'function' as const, function: { name: part.name, arguments: JSON.stringify(part.input) } },
    ]
  })
}

/** OpenAI's cached tokens are part of the prompt tokens. */
const usageOf = (usage: Usage): Fields => ({
  prompt_tokens: usage.input,
  completion_tokens: usage.output,
  total_tokens: usage.input + usage.output,
  prompt_tokens_details: { cached_tokens: usage.cacheRead, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: usage.reasoning },
})

function eventsOf(context: RenderContext, head: Fields, finish_reason: string): StreamEvent[] {
  const { answer, usage, facts, usageAtEnd } = context
  const chunk = (fields: Fields): StreamEvent => ({ data: JSON.stringify({ ...head, ...fields }) })
  const delta = (fields: Fields): StreamEvent =>
    chunk({ choices: [{ index: 0, delta: fields, logprobs: null, finish_reason: null }] })
  const calls = callsOf(context).flatMap(({ id, type, function: { name, arguments: text } }, index) => [
    delta({ tool_calls: [{ index, id, type, function: { name, arguments: '' } }] }),
    ...pieces(text).map((piece) => delta({ tool_calls: [{ index, function: { arguments: piece } }] })),
  ])
  // Usage comes only to those who ask, in a chunk of its own; the mode for the end of a stream sends it unasked.
  const reports = usage !== undefined && (facts.asksUsage || usageAtEnd)
  return [
    delta({ role: 'assistant', content: '', refusal: null }),
    ...pieces(joined(answer.parts, 'reasoning')).map((piece) => delta({ reasoning_content: piece })),
    ...pieces(joined(answer.parts, 'text')).map((piece) => delta({ content: piece })),
    ...pieces(joined(answer.parts, 'refusal')).map((piece) => delta({ refusal: piece })),
    ...calls,
    chunk({ choices: [{ index: 0, delta: {}, logprobs: null, finish_reason }] }),
    ...(reports ? [chunk({ choices: [], usage: usageOf(usage) })] : []),
    { data: SSE_DONE },
  ]
}

import type { StreamEvent, StopReason } from '../../core/codec.ts'
import type { Usage } from '../../core/usage.ts'
import { SSE_DONE } from '../framing/sse.ts'
import { isCall, joined, type AnswerHead, type AnswerPart, type AnswerWriter, type Fields } from '../wire/answer.ts'

const STOPS: Partial<Record<StopReason, string>> = {
  length: 'length',
  'tool-use': 'tool_calls',
  refusal: 'content_filter',
}
const stopOf = (stop: StopReason): string => STOPS[stop] ?? 'stop'

const usageOf = (usage: Usage | undefined): Fields => ({
  prompt_tokens: usage?.input ?? 0,
  completion_tokens: usage?.output ?? 0,
  total_tokens: (usage?.input ?? 0) + (usage?.output ?? 0),
  prompt_tokens_details: { cached_tokens: usage?.cacheRead ?? 0, cache_write_tokens: usage?.cacheWrite ?? 0 },
  completion_tokens_details: { reasoning_tokens: usage?.reasoning ?? 0 },
})

const callOf = ({ id, name, text }: AnswerPart): Fields => ({
  id,
  type: 'function',
  function: { name, arguments: text.trim() === '' ? '{}' : text },
})

const chunk = ({ id, model, nowSeconds }: AnswerHead, fields: Fields): StreamEvent => ({
  data: JSON.stringify({
    id: `chatcmpl-${id}`,
    object: 'chat.completion.chunk',
    created: nowSeconds,
    model,
    ...fields,
  }),
})

const delta = (head: AnswerHead, fields: Fields, finish: string | null = null): StreamEvent =>
  chunk(head, { choices: [{ index: 0, delta: fields, logprobs: null, finish_reason: finish }] })

/** Calls are numbered by themselves here; the writer of one answer keeps count. */
export function chatWriter(): AnswerWriter {
  const numbers = new Map<number, number>()
  const numberOf = (index: number): number => {
    const number = numbers.get(index) ?? numbers.size
    numbers.set(index, number)
    return number
  }
  return {
    shows: () => true,
    whole(head, { parts, stop, usage }) {
      const [text, reasoning] = [joined(parts, 'text'), joined(parts, 'reasoning')]
      const calls = parts.filter(isCall).map(callOf)
      const message = {
        role: 'assistant',
        content: text === '' && calls.length > 0 ? null : text,
        refusal: null,
        ...(reasoning !== '' && { reasoning_content: reasoning }),
        ...(calls.length > 0 && { tool_calls: calls }),
      }
      return {
        id: `chatcmpl-${head.id}`,
        object: 'chat.completion',
        created: head.nowSeconds,
        model: head.model,
        choices: [{ index: 0, message, logprobs: null, finish_reason: stopOf(stop) }],
        usage: usageOf(usage),
      }
    },
    begin: (head) => [delta(head, { role: 'assistant', content: '' })],
    open(head, part, index) {
      if (!isCall(part)) return []
      const { id, name } = part
      const call = { index: numberOf(index), id, type: 'function', function: { name, arguments: '' } }
      return [delta(head, { tool_calls: [call] })]
    },
    grow(head, part, index, piece) {
      if (part.kind === 'text') return [delta(head, { content: piece })]
      if (part.kind === 'reasoning') return [delta(head, { reasoning_content: piece })]
      return [delta(head, { tool_calls: [{ index: numberOf(index), function: { arguments: piece } }] })]
    },
    close: () => [],
    end: (head, { stop, usage }) => [
      delta(head, {}, stopOf(stop)),
      ...(head.withUsage === false ? [] : [chunk(head, { choices: [], usage: usageOf(usage) })]),
      { data: SSE_DONE },
    ],
  }
}

import type { StreamEvent, StopReason } from '../../core/codec.ts'
import type { Usage } from '../../core/usage.ts'
import { SSE_DONE } from '../framing.ts'
import {
  begun,
  errorTypeOf,
  isCall,
  joined,
  piece,
  PLAIN_ANSWERS,
  type AnswerHead,
  type AnswerPart,
  type AnswerPiece,
  type Answers,
  type AnswerWriter,
} from '../wire/answer.ts'
import { type Fields, isRecord, listOf, numberOf, recordOf, stringOf, textOf } from '../../core/values.ts'

const STOPS: Partial<Record<StopReason, string>> = {
  length: 'length',
  'tool-use': 'tool_calls',
  refusal: 'content_filter',
}
const stopOf = (stop: StopReason): string => STOPS[stop] ?? 'stop'

export const usageOf = (usage: Usage | undefined): Fields => ({
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
function chatWriter(): AnswerWriter {
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
        reasoning_content: reasoning !== '' ? reasoning : undefined,
        tool_calls: calls.length > 0 ? calls : undefined,
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

function pieces(event: Fields): AnswerPiece[] {
  const choice = recordOf(listOf(event['choices'])[0])
  const delta = recordOf(choice?.['delta']) ?? {}
  return [
    ...piece('reasoning', 'reasoning', delta['reasoning_content'] ?? delta['reasoning']),
    ...piece('text', 'text', delta['content']),
    ...piece('text', 'text', delta['refusal']),
    ...listOf(delta['tool_calls']).flatMap((value, at) => {
      const call = recordOf(value) ?? {}
      const body = recordOf(call['function']) ?? {}
      const key = `call ${numberOf(call['index']) ?? stringOf(call['id']) ?? at}`
      return begun(key, call['id'], body['name'], textOf(body['arguments']))
    }),
  ]
}

function isEmptyChoice(choice: unknown): boolean {
  if (!isRecord(choice) || (choice['finish_reason'] ?? null) !== null) return false
  const { delta } = choice
  if (!isRecord(delta)) return true
  return Object.entries(delta).every(([key, value]) => key === 'role' || value === '' || value === null)
}

export const answers: Answers = {
  ...PLAIN_ANSWERS,
  writer: chatWriter,
  pieces,
  isPreamble: ({ choices }) => Array.isArray(choices) && choices.every(isEmptyChoice),
  error: openaiError,
  // A client that did not ask may stumble over a chunk without choices.
  wantsUsage: (body) => /"include_usage"\s*:\s*true/.test(body),
}

/** The same on both wires of the vendor. */
export function openaiError(status: number, code: string, message: string): Fields {
  return { error: { message, type: errorTypeOf(status), code, param: null } }
}

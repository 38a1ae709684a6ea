import type { StreamEvent, StopReason } from '../../core/codec.ts'
import type { Usage } from '../../core/usage.ts'
import { plainErrorIn } from '../kit/streams.ts'
import {
  begun,
  isCall,
  piece,
  PLAIN_ANSWERS,
  type AnswerEnd,
  type AnswerHead,
  type AnswerPart,
  type AnswerPiece,
  type Answers,
  type AnswerWriter,
} from '../wire/answer.ts'
import { type Fields, isRecord, numberOf, recordOf, textOf } from '../../core/values.ts'
import { openaiError } from '../openai-chat/answer.ts'

export const usageOf = (usage: Usage | undefined): Fields => ({
  input_tokens: usage?.input ?? 0,
  input_tokens_details: { cached_tokens: usage?.cacheRead ?? 0, cache_write_tokens: usage?.cacheWrite ?? 0 },
  output_tokens: usage?.output ?? 0,
  output_tokens_details: { reasoning_tokens: usage?.reasoning ?? 0 },
  total_tokens: (usage?.input ?? 0) + (usage?.output ?? 0),
})

const REASONS: Partial<Record<StopReason, string>> = { length: 'max_output_tokens', refusal: 'content_filter' }

const responseOf = ({ id, model, nowSeconds }: AnswerHead, fields: Fields): Fields => ({
  id: `resp_${id}`,
  object: 'response',
  created_at: nowSeconds,
  error: null,
  incomplete_details: null,
  instructions: null,
  model,
  parallel_tool_calls: true,
  tool_choice: 'auto',
  tools: [],
  metadata: {},
  ...fields,
})

const itemIdOf = ({ id }: AnswerHead, part: AnswerPart, index: number): string =>
  `${isCall(part) ? 'fc' : 'msg'}_${id}_${index}`

const textPart = (text: string): Fields => ({ type: 'output_text', text, annotations: [], logprobs: [] })

function itemOf(head: AnswerHead, part: AnswerPart, index: number, status = 'completed'): Fields {
  const id = itemIdOf(head, part, index)
  if (!isCall(part)) return { id, type: 'message', role: 'assistant', status, content: [textPart(part.text)] }
  const { id: call_id, name, text } = part
  const args = text.trim() === '' && status === 'completed' ? '{}' : text
  return { id, type: 'function_call', status, call_id, name, arguments: args }
}

function whole(head: AnswerHead, { parts, stop, usage }: AnswerEnd): Fields {
  const reason = REASONS[stop]
  return responseOf(head, {
    status: reason === undefined ? 'completed' : 'incomplete',
    incomplete_details: reason === undefined ? null : { reason },
    output: parts.filter((part) => part.kind !== 'reasoning').map((part, index) => itemOf(head, part, index)),
    usage: usageOf(usage),
  })
}

/** Events are numbered; the writer of one answer keeps count. */
function responsesWriter(): AnswerWriter {
  let number = 0
  const event = (type: string, fields: Fields): StreamEvent => ({
    event: type,
    data: JSON.stringify({ type, sequence_number: number++, ...fields }),
  })
  return {
    shows: (kind) => kind !== 'reasoning',
    whole,
    begin(head) {
      const response = responseOf(head, { status: 'in_progress', output: [], usage: null })
      return [event('response.created', { response }), event('response.in_progress', { response })]
    },
    open(head, part, index) {
      const item = itemOf(head, part, index, 'in_progress')
      if (isCall(part)) return [event('response.output_item.added', { output_index: index, item })]
      const at = { item_id: itemIdOf(head, part, index), output_index: index, content_index: 0 }
      return [
        event('response.output_item.added', { output_index: index, item: { ...item, content: [] } }),
        event('response.content_part.added', { ...at, part: textPart('') }),
      ]
    },
    grow(head, part, index, delta) {
      const at = { item_id: itemIdOf(head, part, index), output_index: index }
      if (isCall(part)) return [event('response.function_call_arguments.delta', { ...at, delta })]
      return [event('response.output_text.delta', { ...at, content_index: 0, delta, logprobs: [] })]
    },
    close(head, part, index) {
      const at = { item_id: itemIdOf(head, part, index), output_index: index }
      const item = itemOf(head, part, index)
      const done = event.bind(undefined, 'response.output_item.done', { output_index: index, item })
      if (isCall(part)) {
        const { name, arguments: args } = item
        return [event('response.function_call_arguments.done', { ...at, name, arguments: args }), done()]
      }
      return [
        event('response.output_text.done', { ...at, content_index: 0, text: part.text, logprobs: [] }),
        event('response.content_part.done', { ...at, content_index: 0, part: textPart(part.text) }),
        done(),
      ]
    },
    end(head, end) {
      const response = whole(head, end)
      return [event(`response.${String(response['status'])}`, { response })]
    },
  }
}

function pieces(event: Fields): AnswerPiece[] {
  const type = textOf(event['type'])
  const key = `item ${numberOf(event['output_index']) ?? 0}`
  const item = recordOf(event['item'])
  if (type === 'response.output_item.added' && item?.['type'] === 'function_call') {
    return begun(key, item['call_id'], item['name'], textOf(item['arguments']))
  }
  if (type === 'response.output_text.delta' || type === 'response.refusal.delta')
    return piece('text', key, event['delta'])
  if (type === 'response.reasoning_summary_text.delta' || type === 'response.reasoning_text.delta') {
    return piece('reasoning', key, event['delta'])
  }
  return type === 'response.function_call_arguments.delta' ? piece('call', key, event['delta']) : []
}

const PREAMBLE = ['response.created', 'response.in_progress', 'response.queued', 'keepalive']

export const answers: Answers = {
  ...PLAIN_ANSWERS,
  writer: responsesWriter,
  pieces,
  isPreamble: ({ type }) => PREAMBLE.includes(textOf(type)),
  errorIn(body) {
    const { response } = body
    if (body['type'] === 'response.failed' && isRecord(response)) return response['error'] ?? response
    return plainErrorIn(body)
  },
  error: openaiError,
}

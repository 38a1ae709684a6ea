import type { StreamEvent, StopReason } from '../../core/codec.ts'
import type { Usage } from '../../core/usage.ts'
import {
  argumentsOf,
  begun,
  errorTypeOf,
  piece,
  PLAIN_ANSWERS,
  type AnswerHead,
  type AnswerPart,
  type AnswerPiece,
  type Answers,
  type AnswerWriter,
} from '../wire/answer.ts'
import { type Fields, numberOf, recordOf } from '../../core/values.ts'

const STOPS: Partial<Record<StopReason, string>> = {
  length: 'max_tokens',
  'tool-use': 'tool_use',
  refusal: 'refusal',
  pause: 'pause_turn',
}
export const stopOf = (stop: StopReason): string => STOPS[stop] ?? 'end_turn'

/** Cached tokens stand beside the input here. */
export const usageOf = (usage: Usage | undefined): Fields => ({
  input_tokens: usage === undefined ? 0 : Math.max(0, usage.input - usage.cacheRead - usage.cacheWrite),
  cache_creation_input_tokens: usage?.cacheWrite ?? 0,
  cache_read_input_tokens: usage?.cacheRead ?? 0,
  output_tokens: usage?.output ?? 0,
})

export const event = (type: string, fields: Fields = {}): StreamEvent => ({
  event: type,
  data: JSON.stringify({ type, ...fields }),
})

const messageOf = ({ id, model }: AnswerHead): Fields => ({
  id: `msg_${id}`,
  type: 'message',
  role: 'assistant',
  model,
  content: [],
  stop_reason: null,
  stop_sequence: null,
  usage: usageOf(undefined),
})

const blockOf = (part: AnswerPart): Fields =>
  part.kind === 'call'
    ? { type: 'tool_use', id: part.id, name: part.name, input: argumentsOf(part) }
    : { type: 'text', text: part.text }

const writer: AnswerWriter = {
  shows: (kind) => kind !== 'reasoning',
  whole: (head, { parts, stop, usage }) => ({
    ...messageOf(head),
    content: parts.filter((part) => part.kind !== 'reasoning').map(blockOf),
    stop_reason: stopOf(stop),
    usage: usageOf(usage),
  }),
  begin: (head) => [event('message_start', { message: messageOf(head) })],
  open: (_head, part, index) => [
    event('content_block_start', { index, content_block: blockOf({ ...part, text: '' }) }),
  ],
  grow: (_head, part, index, piece) => {
    const delta =
      part.kind === 'call' ? { type: 'input_json_delta', partial_json: piece } : { type: 'text_delta', text: piece }
    return [event('content_block_delta', { index, delta })]
  },
  close: (_head, _part, index) => [event('content_block_stop', { index })],
  end: (_head, { stop, usage }) => [
    event('message_delta', { delta: { stop_reason: stopOf(stop), stop_sequence: null }, usage: usageOf(usage) }),
    event('message_stop'),
  ],
}

function pieces(event: Fields): AnswerPiece[] {
  const key = `block ${numberOf(event['index']) ?? 0}`
  const block = recordOf(event['content_block'])
  if (event['type'] === 'content_block_start') {
    if (block?.['type'] === 'tool_use') return begun(key, block['id'], block['name'])
    return piece('text', key, block?.['text'])
  }
  if (event['type'] !== 'content_block_delta') return []
  const delta = recordOf(event['delta']) ?? {}
  return [
    ...piece('text', key, delta['type'] === 'text_delta' ? delta['text'] : undefined),
    ...piece('reasoning', key, delta['thinking']),
    ...piece('call', key, delta['partial_json']),
  ]
}

export const answers: Answers = {
  ...PLAIN_ANSWERS,
  writer: () => writer,
  pieces,
  isPreamble: ({ type }) => type === 'message_start' || type === 'ping',
  error: (status, code, message) => ({ type: 'error', error: { type: errorTypeOf(status), message, code } }),
  errorEvent: (error) => ({ event: 'error', data: JSON.stringify(error) }),
}

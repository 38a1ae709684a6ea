import type { StopReason, StreamEvent } from '../../core/codec.ts'
import type { Usage } from '../../core/usage.ts'
import { recordOf, recordsIn, type Fields } from '../../core/values.ts'
import {
  argumentsOf,
  begun,
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

const stopOf = (stop: StopReason): string => (stop === 'length' ? 'length' : 'stop')

const usageOf = (usage: Usage | undefined): Fields => ({
  total_duration: 0,
  prompt_eval_count: usage?.input ?? 0,
  eval_count: usage?.output ?? 0,
})

const bodyOf = ({ model, nowSeconds }: AnswerHead, message: Fields, rest: Fields = { done: false }): Fields => ({
  model,
  created_at: new Date(nowSeconds * 1000).toISOString(),
  message: { role: 'assistant', ...message },
  ...rest,
})

const callOf = (part: AnswerPart): Fields => ({
  id: part.id,
  function: { name: part.name, arguments: argumentsOf(part) },
})

const line = (...args: Parameters<typeof bodyOf>): StreamEvent => ({ data: JSON.stringify(bodyOf(...args)) })

const ended = (stop: StopReason, usage: Usage | undefined): Fields => ({
  done: true,
  done_reason: stopOf(stop),
  ...usageOf(usage),
})

const writer: AnswerWriter = {
  shows: () => true,
  whole(head, { parts, stop, usage }) {
    const thinking = joined(parts, 'reasoning')
    const calls = parts.filter(isCall).map(callOf)
    const message = {
      content: joined(parts, 'text'),
      thinking: thinking !== '' ? thinking : undefined,
      tool_calls: calls.length > 0 ? calls : undefined,
    }
    return bodyOf(head, message, ended(stop, usage))
  },
  begin: () => [],
  open: () => [],
  // Calls travel whole on this wire.
  grow: (head, part, _index, text) => {
    if (isCall(part)) return []
    return [line(head, part.kind === 'reasoning' ? { content: '', thinking: text } : { content: text })]
  },
  close: (head, part) => (isCall(part) ? [line(head, { content: '', tool_calls: [callOf(part)] })] : []),
  end: (head, { stop, usage }) => [line(head, { content: '' }, ended(stop, usage))],
}

function pieces(event: Fields): AnswerPiece[] {
  const message = recordOf(event['message']) ?? {}
  return [
    ...piece('reasoning', 'reasoning', message['thinking']),
    ...piece('text', 'text', message['content']),
    ...recordsIn(message['tool_calls']).flatMap((call) => {
      const body = recordOf(call['function']) ?? {}
      return begun('', call['id'], body['name'], JSON.stringify(body['arguments'] ?? {}))
    }),
  ]
}

export const answers: Answers = {
  ...PLAIN_ANSWERS,
  writer: () => writer,
  pieces,
  isPreamble: (event) => event['done'] !== true && pieces(event).length === 0,
  error: (_status, _code, message) => ({ error: message }),
}

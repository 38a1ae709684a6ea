import type { ModelResponse, StopReason, StreamEvent, StreamReducer } from '../../core/codec.ts'
import type { Usage } from '../../core/usage.ts'
import { type Fields, isRecord, listOf, recordOf, recordsIn, stringOf, textOf } from '../../core/values.ts'
import { amount, knownUsage, type MutableFields, addText, reducer } from '../kit/streams.ts'
import { isText, messageOfParts, partsOfMessage } from '../openai-chat/answers.ts'
import { readAnswer } from '../openai-chat/answers.ts'
import {
  type AnswerHead,
  type AnswerPart,
  type AnswerPiece,
  type Answers,
  type AnswerWriter,
  argumentsOf,
  callPiece,
  isCall,
  joined,
  piece,
  PLAIN_ANSWERS,
} from '../wire/answer.ts'
import { eventOf, type HiddenWire, parseInput, type Passed, VisibleStream } from '../wire/steps.ts'
import { REASONING_KEYS } from './decode.ts'

/** The counts are in the last line of a stream, outside the message. Cached tokens are not reported. */
const readUsage = (fields: Fields): Usage => ({
  input: amount(fields, 'prompt_eval_count'),
  cacheRead: 0,
  cacheWrite: 0,
  output: amount(fields, 'eval_count'),
  reasoning: 0,
})

const STOP_REASONS: Readonly<Record<string, StopReason>> = {
  stop: 'end',
  length: 'length',
  load: 'unknown',
  unload: 'unknown',
}

export function readResponse(body: unknown): ModelResponse {
  const response = recordOf(body) ?? {}
  const message = recordOf(response['message']) ?? {}
  const items = readAnswer(message, REASONING_KEYS)
  const stop =
    STOP_REASONS[stringOf(response['done_reason']) ?? ''] ?? (response['error'] === undefined ? 'unknown' : 'error')
  return {
    items,
    // Ollama also says `stop` for a turn with calls.
    stop: stop === 'end' && items.some(({ kind }) => kind === 'call') ? 'tool-use' : stop,
    model: stringOf(response['model']),
    usage: knownUsage(readUsage, response),
  }
}

/** Assembles a streamed answer: each line has a part of the message, the last one the counts. */
export function stream(): StreamReducer {
  const text: MutableFields = {}
  const calls: unknown[] = []
  let head: MutableFields = {}
  const body = (): Fields => ({
    ...head,
    message: { ...text, tool_calls: calls.length > 0 ? calls : undefined },
  })
  return reducer(readResponse, body, ({ message, ...rest }, seen) => {
    const said = recordOf(message) ?? {}
    addText(text, 'content', said['content'])
    addText(text, 'thinking', said['thinking'])
    // Calls are not streamed.
    calls.push(...listOf(said['tool_calls']))
    head = { ...head, ...rest }
    if (rest['done'] === true) seen.done = true
  })
}

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

/** `index`: its position among the parts of the answer. */
const callOf = (part: AnswerPart, index: number): Fields => ({
  id: part.id,
  function: { index, name: part.name, arguments: argumentsOf(part) },
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
    const calls = parts.flatMap((part, index) => (isCall(part) ? [callOf(part, index)] : []))
    const message = {
      content: joined(parts, 'text'),
      thinking: thinking !== '' ? thinking : undefined,
      tool_calls: calls.length > 0 ? calls : undefined,
    }
    return bodyOf(head, message, ended(stop, usage))
  },
  begin: () => [],
  open: () => [],
  // Calls are not streamed on this wire.
  grow: (head, part, _index, text) => {
    if (isCall(part)) return []
    return [line(head, part.kind === 'reasoning' ? { content: '', thinking: text } : { content: text })]
  },
  close: (head, part, index) => (isCall(part) ? [line(head, { content: '', tool_calls: [callOf(part, index)] })] : []),
  end: (head, { stop, usage }) => [line(head, { content: '' }, ended(stop, usage))],
}

function pieces(event: Fields): AnswerPiece[] {
  const message = recordOf(event['message']) ?? {}
  return [
    ...piece('reasoning', 'reasoning', message['thinking']),
    ...piece('text', 'text', message['content']),
    ...recordsIn(message['tool_calls']).flatMap((call) => {
      const body = recordOf(call['function']) ?? {}
      return callPiece('', call['id'], body['name'], JSON.stringify(body['arguments'] ?? {}))
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

const nameOf = (part: Fields): string => (isRecord(part['function']) ? textOf(part['function']['name']) : '')

export const steps: HiddenWire = {
  list: 'messages',
  admits: (fields) => (recordsIn(fields['tools']).length === 0 ? 'no' : 'open'),
  callOf: (part, isOurs) =>
    isRecord(part['function']) && isOurs(nameOf(part))
      ? { id: textOf(part['id']), name: nameOf(part), input: parseInput(part['function']['arguments']) }
      : undefined,
  isCall: (part) => !isText(part),
  resultOf: ({ id, name }, content) => ({
    role: 'tool',
    tool_name: name,
    tool_call_id: id !== '' ? id : undefined,
    content,
  }),
  continuation: (parts, results) => [messageOfParts(parts, ''), ...results],
  joinsResults: false,
  partsOf: (body) => partsOfMessage(body['message']),
  assemble: (bodies, visible) => ({ ...bodies.at(-1)!, message: messageOfParts(merged(visible), '') }),
  stream: (isOurs) => new OllamaStream(steps, isOurs),
}

/** Joins the texts of several answers. */
function merged(parts: readonly Fields[]): readonly Fields[] {
  const texts = parts.filter(isText)
  const all = (key: string): string => texts.map((part) => textOf(part[key])).join('')
  const thinking = all('thinking')
  return [{ content: all('content'), thinking: thinking !== '' ? thinking : undefined }, ...parts.filter(steps.isCall)]
}

class OllamaStream extends VisibleStream {
  protected override take(event: StreamEvent, data: Fields | undefined): readonly Passed[] {
    const message = data?.['message']
    if (data === undefined || !isRecord(message)) return ['same']
    const { tool_calls, ...rest } = message
    const calls = recordsIn(tool_calls)
    const shown = calls.filter((call) => !this.isHidden(call))
    const isChanged = shown.length < calls.length
    const seen = shown.length === 0 ? rest : { ...rest, tool_calls: shown }
    const passed = isChanged ? eventOf(event, { ...data, message: seen }) : event
    if (data['done'] === true && this.hidesCalls) return this.end(passed, data)
    const saysNothing = textOf(rest['content']) === '' && textOf(rest['thinking']) === '' && shown.length === 0
    if (!isChanged) return ['same']
    return saysNothing && data['done'] !== true ? [] : [passed]
  }
}

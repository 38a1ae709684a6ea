import type { ModelResponse, StopReason, StreamEvent, StreamReducer } from '../../core/codec.ts'
import type { Item } from '../../core/item.ts'
import type { Usage } from '../../core/usage.ts'
import { type Fields, listOf, numberOf, parsedJson, recordOf, recordsIn, stringOf } from '../../core/values.ts'
import { addText, amount, inOrder, knownUsage, type MutableFields, reducer, stopWord } from '../kit/streams.ts'
import {
  type AnswerPart,
  type AnswerPiece,
  type Answers,
  type AnswerWriter,
  argumentsOf,
  callPiece,
  piece,
} from '../wire/answer.ts'
import { eventOf, type HiddenWire, type Passed, VisibleStream } from '../wire/steps.ts'
import { shownStop, STOP_REASONS as CLAUDE_STOP_REASONS } from '../anthropic-messages/answers.ts'
import { readBlock } from './decode.ts'

/** Input is reported without its cached part; ours includes it. */
function readUsage(fields: Fields): Usage {
  const cacheRead = amount(fields, 'cacheReadInputTokens')
  const cacheWrite = amount(fields, 'cacheWriteInputTokens')
  const long = recordsIn(fields['cacheDetails']).find(({ ttl }) => ttl === '1h')
  return {
    input: amount(fields, 'inputTokens') + cacheRead + cacheWrite,
    cacheRead,
    cacheWrite,
    cacheWriteLong: long === undefined ? undefined : amount(long, 'inputTokens'),
    output: amount(fields, 'outputTokens'),
    reasoning: 0,
  }
}

/** The words of Claude's own API, and what this vendor adds. */
const STOP_REASONS: Readonly<Record<string, StopReason>> = {
  ...CLAUDE_STOP_REASONS,
  content_filtered: 'refusal',
  guardrail_intervened: 'refusal',
  malformed_model_output: 'error',
  malformed_tool_use: 'error',
}

const contentOf = (body: Fields): readonly Fields[] =>
  recordsIn(recordOf(recordOf(body['output'])?.['message'])?.['content'])

export function readResponse(body: unknown): ModelResponse {
  const fields = recordOf(body) ?? {}
  const items = contentOf(fields).map((block, at): Item => {
    const read = readBlock(
      block,
      'assistant',
      () => JSON.stringify(block),
      () => JSON.stringify(recordOf(block['toolUse'])?.['input'] ?? {}),
    )
    return { id: `r.${at}`, role: 'assistant', message: 0, ...read }
  })
  return {
    items,
    stop: STOP_REASONS[stringOf(fields['stopReason']) ?? ''] ?? 'unknown',
    usage: knownUsage(readUsage, fields['usage']),
  }
}

const EXCEPTION = /Exception$/

/** The exception that an event or a body is about. */
function errorIn(body: Fields): unknown {
  const name = Object.keys(body).find((key) => EXCEPTION.test(key))
  if (name !== undefined) return { type: name, ...recordOf(body[name]) }
  return EXCEPTION.test(stringOf(body['__type']) ?? '') ? body : undefined
}

/** Puts a streamed answer together again. Each event has its payload under its name. */
export function stream(): StreamReducer {
  const rest: MutableFields = {}
  const blocks = new Map<number, MutableFields>()
  const blockAt = (payload: Fields): MutableFields => {
    const index = numberOf(payload['contentBlockIndex']) ?? 0
    const block = blocks.get(index) ?? {}
    blocks.set(index, block)
    return block
  }
  const body = (): Fields => ({
    ...rest,
    output: { message: { role: 'assistant', content: inOrder(blocks).map(finished) } },
  })
  return reducer(readResponse, body, (event, seen) => {
    const error = errorIn(event)
    if (error !== undefined) seen.error = error
    const payload = (name: string): Fields | undefined => recordOf(event[name])
    const start = payload('contentBlockStart')
    if (start !== undefined) Object.assign(blockAt(start), recordOf(start['start']))
    const grown = payload('contentBlockDelta')
    if (grown !== undefined) grow(blockAt(grown), recordOf(grown['delta']) ?? {})
    const stop = payload('messageStop')
    if (stop !== undefined) {
      rest['stopReason'] = stop['stopReason']
      seen.done = true
    }
    const metadata = payload('metadata')
    if (metadata !== undefined) rest['usage'] = metadata['usage']
  })
}

function grow(block: MutableFields, delta: Fields): void {
  addText(block, 'text', delta['text'])
  const input = recordOf(delta['toolUse'])?.['input']
  if (input !== undefined) addText(block, PARTIAL, input)
  const { text, signature, redactedContent } = recordOf(delta['reasoningContent']) ?? {}
  if (redactedContent !== undefined) block['reasoningContent'] = { redactedContent }
  if (text === undefined && signature === undefined) return
  const said: MutableFields = { ...recordOf(recordOf(block['reasoningContent'])?.['reasoningText']) }
  addText(said, 'text', text)
  addText(said, 'signature', signature)
  block['reasoningContent'] = { reasoningText: said }
}

/** The arguments of a call as far as they have come. */
const PARTIAL = 'partialInput'

function finished({ [PARTIAL]: json, ...block }: MutableFields): Fields {
  const call = recordOf(block['toolUse'])
  if (call === undefined) return block
  // A cut stream leaves half an argument object; what arrived before it is still worth recording.
  const input = typeof json === 'string' && json !== '' ? (parsedJson(json) ?? { partial: json }) : {}
  return { ...block, toolUse: { ...call, input } }
}

export const stopOf = (stop: StopReason): string => stopWord(STOP_REASONS, stop)

/** Cached tokens stand beside the input here. */
export const usageOf = (usage: Usage | undefined): Fields => {
  const { input = 0, cacheRead = 0, cacheWrite = 0, output = 0 } = usage ?? {}
  return {
    inputTokens: Math.max(0, input - cacheRead - cacheWrite),
    outputTokens: output,
    totalTokens: input + output,
    cacheReadInputTokens: cacheRead,
    cacheWriteInputTokens: cacheWrite,
  }
}

/** An event as the framing reads it. */
export const event = (name: string, payload: Fields): StreamEvent => ({
  event: name,
  data: JSON.stringify({ [name]: payload }),
})

const blockOf = (part: AnswerPart): Fields =>
  part.kind === 'call'
    ? { toolUse: { toolUseId: part.id, name: part.name, input: argumentsOf(part) } }
    : { text: part.text }

const METRICS = { latencyMs: 0 }

const writer: AnswerWriter = {
  shows: (kind) => kind !== 'reasoning',
  whole: (_head, { parts, stop, usage }) => ({
    output: { message: { role: 'assistant', content: parts.filter(({ kind }) => kind !== 'reasoning').map(blockOf) } },
    stopReason: stopOf(stop),
    usage: usageOf(usage),
    metrics: METRICS,
  }),
  begin: () => [event('messageStart', { role: 'assistant' })],
  open: (_head, { kind, id, name }, contentBlockIndex) =>
    kind === 'call'
      ? [event('contentBlockStart', { start: { toolUse: { toolUseId: id, name } }, contentBlockIndex })]
      : [],
  grow: (_head, { kind }, contentBlockIndex, text) => [
    event('contentBlockDelta', { delta: kind === 'call' ? { toolUse: { input: text } } : { text }, contentBlockIndex }),
  ],
  close: (_head, _part, contentBlockIndex) => [event('contentBlockStop', { contentBlockIndex })],
  end: (_head, { stop, usage }) => [
    event('messageStop', { stopReason: stopOf(stop) }),
    event('metadata', { usage: usageOf(usage), metrics: METRICS }),
  ],
}

function pieces(body: Fields): AnswerPiece[] {
  const start = recordOf(body['contentBlockStart'])
  const grown = recordOf(body['contentBlockDelta'])
  const key = `block ${numberOf((start ?? grown)?.['contentBlockIndex']) ?? 0}`
  const call = recordOf(recordOf(start?.['start'])?.['toolUse'])
  if (call !== undefined) return callPiece(key, call['toolUseId'], call['name'])
  const delta = recordOf(grown?.['delta']) ?? {}
  return [
    ...piece('text', key, delta['text']),
    ...piece('reasoning', key, recordOf(delta['reasoningContent'])?.['text']),
    ...piece('call', key, recordOf(delta['toolUse'])?.['input']),
  ]
}

/** By status; anything else that is the caller's fault is a `ValidationException`. */
const EXCEPTIONS: Readonly<Record<number, string>> = {
  401: 'UnrecognizedClientException',
  402: 'ServiceQuotaExceededException',
  403: 'AccessDeniedException',
  404: 'ResourceNotFoundException',
  408: 'ModelTimeoutException',
  429: 'ThrottlingException',
  503: 'ServiceUnavailableException',
}

export const exceptionOf = (status: number): string =>
  EXCEPTIONS[status] ?? (status >= 500 ? 'InternalServerException' : 'ValidationException')

export const answers: Answers = {
  writer: () => writer,
  pieces,
  isPreamble: ({ messageStart }) => messageStart !== undefined,
  errorIn,
  error: (status, code, message) => ({ __type: exceptionOf(status), message, code }),
  errorEvent({ __type: type, message }) {
    const name = stringOf(type) ?? 'internalServerException'
    return event(name.charAt(0).toLowerCase() + name.slice(1), { message })
  },
  wantsUsage: () => true,
}

export const steps: HiddenWire = {
  list: 'messages',
  admits(fields) {
    const config = recordOf(fields['toolConfig'])
    if (!listOf(config?.['tools']).some((tool) => recordOf(recordOf(tool)?.['toolSpec']) !== undefined)) return 'no'
    return recordOf(config?.['toolChoice'])?.['tool'] === undefined ? 'open' : 'closed'
  },
  callOf(part, isOurs) {
    const call = recordOf(part['toolUse'])
    return call !== undefined && isOurs(String(call['name']))
      ? { id: String(call['toolUseId']), name: String(call['name']), input: call['input'] ?? {} }
      : undefined
  },
  isCall: (part) => recordOf(part['toolUse']) !== undefined,
  resultOf: ({ id }, text) => ({ toolResult: { toolUseId: id, content: [{ text }], status: 'success' } }),
  continuation: (parts, results) => [
    { role: 'assistant', content: parts },
    { role: 'user', content: results },
  ],
  joinsResults: true,
  partsOf: contentOf,
  assemble(bodies, visible) {
    const last = bodies.at(-1)!
    return {
      ...last,
      output: { message: { role: 'assistant', content: visible } },
      stopReason: shownStop(last['stopReason'], visible.some(steps.isCall)),
    }
  },
  stream: (isOurs) => new ConverseStream(steps, isOurs),
}

class ConverseStream extends VisibleStream {
  #hasCalls = false

  protected override take(original: StreamEvent, data: Fields | undefined): readonly Passed[] {
    const name = Object.keys(data ?? {})[0] ?? ''
    const payload = recordOf(data?.[name])
    if (payload === undefined) return ['same']
    if (name === 'messageStart') return this.answers === 0 ? ['same'] : []
    if (name === 'messageStop' || name === 'metadata') return this.end(original, data)
    const own = payload['contentBlockIndex']
    if (own === undefined) return ['same']
    // Text begins without an event of its own.
    if (!this.shown.has(own)) this.begin(own, recordOf(payload['start']) ?? {})
    const index = this.shown.get(own)
    if (index === undefined) return []
    if (steps.isCall(recordOf(payload['start']) ?? {})) this.#hasCalls = true
    return index === own ? ['same'] : [eventOf(original, { [name]: { ...payload, contentBlockIndex: index } })]
  }

  protected override ending(original: StreamEvent, data: Fields): Passed {
    const stop = recordOf(data['messageStop'])
    if (stop === undefined || !this.isChanged) return original
    return eventOf(original, { messageStop: { ...stop, stopReason: shownStop(stop['stopReason'], this.#hasCalls) } })
  }
}

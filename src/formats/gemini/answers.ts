import type { ModelResponse, StopReason, StreamEvent, StreamReducer } from '../../core/codec.ts'
import type { Item } from '../../core/item.ts'
import type { Usage } from '../../core/usage.ts'
import { type Fields, isRecord, numberOf, recordOf, recordsIn, stringOf } from '../../core/values.ts'
import { arrayOf } from '../kit/reading.ts'
import { amount, knownUsage, type MutableFields, addText, reducer, stopWord } from '../kit/streams.ts'
import {
  type AnswerHead,
  type AnswerPart,
  type AnswerPiece,
  type Answers,
  type AnswerWriter,
  argumentsOf,
  callPiece,
  isCall,
  piece,
  PLAIN_ANSWERS,
} from '../wire/answer.ts'
import { byToolChoice, eventOf, type HiddenWire, type Passed, VisibleStream } from '../wire/steps.ts'
import { listOf, readPart, requestIn, valueAt } from './decode.ts'
import { FOREIGN_SIGNATURE } from './encode.ts'

/** The prompt count includes cached tokens; the output count excludes thoughts. */
function readUsage(fields: Fields): Usage {
  const count = (name: string): number => amount({ value: valueAt(fields, name) }, 'value')
  const reasoning = count('thoughtsTokenCount')
  return {
    // Results of Google's own tools are billed as prompt but counted separately.
    input: count('promptTokenCount') + count('toolUsePromptTokenCount'),
    cacheRead: count('cachedContentTokenCount'),
    cacheWrite: 0,
    output: count('candidatesTokenCount') + reasoning,
    reasoning,
  }
}

const STOP_REASONS: Readonly<Record<string, StopReason>> = {
  STOP: 'end',
  MAX_TOKENS: 'length',
  SAFETY: 'refusal',
  RECITATION: 'refusal',
  LANGUAGE: 'refusal',
  BLOCKLIST: 'refusal',
  PROHIBITED_CONTENT: 'refusal',
  SPII: 'refusal',
  IMAGE_SAFETY: 'refusal',
  IMAGE_PROHIBITED_CONTENT: 'refusal',
  IMAGE_RECITATION: 'refusal',
  OTHER: 'error',
  MALFORMED_FUNCTION_CALL: 'error',
  UNEXPECTED_TOOL_CALL: 'error',
  TOO_MANY_TOOL_CALLS: 'error',
}

/** Code Assist wraps answers as it wraps requests. */
function unwrap(body: unknown): Fields {
  const fields = recordOf(body) ?? {}
  return recordOf(fields['response']) ?? fields
}

export function readResponse(body: unknown): ModelResponse {
  const response = unwrap(body)
  const candidate = recordOf(arrayOf(response['candidates'])?.[0]) ?? {}
  const parts = listOf(recordOf(candidate['content'])?.['parts'])
  const items = parts.map((value, at): Item => {
    const part = recordOf(value) ?? {}
    return { id: `r.${at}`, message: 0, ...readPart(part, 'assistant', (...keys) => rawAt(part, keys)) }
  })
  const blocked = valueAt(recordOf(valueAt(response, 'promptFeedback')), 'blockReason') !== undefined
  const stop = blocked ? 'refusal' : (STOP_REASONS[stringOf(valueAt(candidate, 'finishReason')) ?? ''] ?? 'unknown')
  return {
    items,
    // This wire has no finish reason for calls.
    stop: stop === 'end' && items.some((item) => item.kind === 'call' && item.serverSide !== true) ? 'tool-use' : stop,
    ranHostedTools: ranHostedTools(response, candidate) ? true : undefined,
    id: stringOf(valueAt(response, 'responseId')),
    model: stringOf(valueAt(response, 'modelVersion')),
    usage: knownUsage(readUsage, valueAt(response, 'usageMetadata')),
  }
}

/** Whether the answer used a search or pages, whose text is in its count. Many other answers have these members too, but empty. */
function ranHostedTools(response: Fields, candidate: Fields): boolean {
  const found = TOOL_MARKS.map((key) => recordOf(valueAt(candidate, key)))
  const counted = numberOf(valueAt(recordOf(valueAt(response, 'usageMetadata')), 'toolUsePromptTokenCount')) ?? 0
  return counted > 0 || found.some((mark) => mark !== undefined && Object.keys(mark).length > 0)
}

const TOOL_MARKS = ['groundingMetadata', 'urlContextMetadata'] as const

function rawAt(part: Fields, keys: readonly string[]): string {
  let at: unknown = part
  for (const key of keys) at = valueAt(recordOf(at), key)
  return JSON.stringify(at) ?? ''
}

/** Assembles a streamed answer. Each chunk is a response with the next parts. */
export function stream(): StreamReducer {
  const head: MutableFields = {}
  const candidate: MutableFields = {}
  const parts: MutableFields[] = []
  // Text of several chunks is joined to one part; a part with a signature stays separate, as it was issued.
  const take = (part: Fields): void => {
    const last = parts.at(-1) ?? {}
    const isMore = isPlainText(part) && isPlainText(last) && (last['thought'] === true) === (part['thought'] === true)
    if (isMore) addText(last, 'text', part['text'])
    else parts.push({ ...part })
  }
  const body = (): Fields => ({
    ...head,
    candidates: [{ ...candidate, content: { role: 'model', parts: parts.map((part) => ({ ...part })) } }],
  })
  return reducer(readResponse, body, (event, seen) => {
    const chunk = unwrap(event)
    for (const key of ['responseId', 'modelVersion', 'usageMetadata', 'promptFeedback']) {
      const value = valueAt(chunk, key)
      if (value !== undefined) head[key] = value
    }
    const next = recordOf(arrayOf(chunk['candidates'])?.[0])
    for (const part of listOf(recordOf(next?.['content'])?.['parts'])) take(recordOf(part) ?? {})
    for (const key of [...TOOL_MARKS, 'finishReason']) {
      const value = valueAt(next, key)
      if (value !== undefined) candidate[key] = value
    }
    const isBlocked = valueAt(recordOf(head['promptFeedback']), 'blockReason') !== undefined
    if (candidate['finishReason'] !== undefined || isBlocked) seen.done = true
  })
}

const isPlainText = (part: Fields): boolean =>
  typeof part['text'] === 'string' && Object.keys(part).every((key) => key === 'text' || key === 'thought')

export const stopOf = (stop: StopReason): string => stopWord(STOP_REASONS, stop)

export const usageOf = (usage: Usage | undefined): Fields => ({
  promptTokenCount: usage?.input ?? 0,
  cachedContentTokenCount: (usage?.cacheRead ?? 0) > 0 ? usage!.cacheRead : undefined,
  candidatesTokenCount: (usage?.output ?? 0) - (usage?.reasoning ?? 0),
  thoughtsTokenCount: (usage?.reasoning ?? 0) > 0 ? usage!.reasoning : undefined,
  totalTokenCount: (usage?.input ?? 0) + (usage?.output ?? 0),
})

const bodyOf = ({ id, model }: AnswerHead, parts: readonly Fields[], rest: Fields, usage: Fields = {}): Fields => ({
  candidates: [{ index: 0, content: { role: 'model', parts }, ...rest }],
  ...usage,
  modelVersion: model,
  responseId: id,
})

/** The first call of an answer needs a signature; Gemini 3 would refuse the call without one. */
function partOf(part: AnswerPart, isFirstCall: boolean): Fields {
  if (part.kind === 'text') return { text: part.text }
  if (part.kind === 'reasoning') return { text: part.text, thought: true }
  const functionCall = { id: part.id, name: part.name, args: argumentsOf(part) }
  return { functionCall, thoughtSignature: isFirstCall ? FOREIGN_SIGNATURE : undefined }
}

function geminiWriter(): AnswerWriter {
  let calls = 0
  const chunk = (...args: Parameters<typeof bodyOf>): StreamEvent => ({ data: JSON.stringify(bodyOf(...args)) })
  return {
    shows: () => true,
    whole(head, { parts, stop, usage }) {
      const first = parts.find(isCall)
      const written = parts.map((part) => partOf(part, part === first))
      return bodyOf(head, written, { finishReason: stopOf(stop) }, { usageMetadata: usageOf(usage) })
    },
    begin: () => [],
    open: () => [],
    // Arguments are not streamed on this wire.
    grow: (head, part, _index, piece) =>
      isCall(part) ? [] : [chunk(head, [partOf({ ...part, text: piece }, false)], {})],
    close: (head, part) => (isCall(part) ? [chunk(head, [partOf(part, calls++ === 0)], {})] : []),
    end: (head, { stop, usage }) => [
      chunk(head, [{ text: '' }], { finishReason: stopOf(stop) }, { usageMetadata: usageOf(usage) }),
    ],
  }
}

function pieces(event: Fields): AnswerPiece[] {
  const candidate = recordOf(listOf((recordOf(event['response']) ?? event)['candidates'])[0])
  return listOf(recordOf(candidate?.['content'])?.['parts']).flatMap((value) => {
    const part = recordOf(value) ?? {}
    const call = recordOf(part['functionCall'])
    // Calls are not streamed, so each is a new part.
    if (call !== undefined) return callPiece('', call['id'], call['name'], JSON.stringify(call['args'] ?? {}))
    const kind = part['thought'] === true ? 'reasoning' : 'text'
    return piece(kind, kind, part['text'])
  })
}

const STATUS: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  402: 'RESOURCE_EXHAUSTED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  413: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

export const answers: Answers = {
  ...PLAIN_ANSWERS,
  writer: geminiWriter,
  pieces,
  isPreamble: ({ candidates }) => candidates === undefined,
  error: (status, _code, message) => ({
    error: { code: status, message, status: STATUS[status] ?? (status >= 500 ? 'INTERNAL' : 'INVALID_ARGUMENT') },
  }),
}

const candidateOf = (body: Fields): Fields | undefined => recordsIn(body['candidates'])[0]
const partsIn = (candidate: Fields | undefined): readonly Fields[] =>
  isRecord(candidate?.['content']) ? recordsIn(candidate['content']['parts']) : []

export const steps: HiddenWire = {
  list: 'contents',
  admits(body) {
    const fields = requestIn(body)
    const config = recordOf(valueAt(fields, 'generationConfig'))
    const candidates = valueAt(config, 'candidateCount')
    // Cached content contains its own tools, and Google's own tools cannot be combined with functions.
    if ((valueAt(fields, 'cachedContent') ?? null) !== null || (typeof candidates === 'number' && candidates > 1))
      return 'no'
    const tools = listOf(fields['tools']).filter(isRecord)
    const declaresOnly = tools.every(
      (tool) => valueAt(tool, 'functionDeclarations') !== undefined && Object.keys(tool).length === 1,
    )
    const hasFunctions = tools.some((tool) => listOf(valueAt(tool, 'functionDeclarations')).length > 0)
    if (!declaresOnly || !hasFunctions) return 'no'
    const calling = recordOf(valueAt(recordOf(valueAt(fields, 'toolConfig')), 'functionCallingConfig'))
    // Streamed arguments are not assembled here.
    if (valueAt(calling, 'streamFunctionCallArguments') === true) return 'no'
    return listOf(valueAt(calling, 'allowedFunctionNames')).length > 0 ? 'closed' : byToolChoice(fields)
  },
  callOf(part, isOurs) {
    const call = part['functionCall']
    if (!isRecord(call) || !isOurs(String(call['name']))) return undefined
    return {
      id: typeof call['id'] === 'string' ? call['id'] : '',
      name: String(call['name']),
      input: call['args'] ?? {},
    }
  },
  isCall: (part) => isRecord(part['functionCall']),
  resultOf: ({ id, name }, text) => ({
    functionResponse: { id: id !== '' ? id : undefined, name, response: { output: text } },
  }),
  continuation: (parts, results) => [
    { role: 'model', parts },
    { role: 'user', parts: results },
  ],
  joinsResults: true,
  // A stream may end with an empty text.
  partsOf: (body) => partsIn(candidateOf(body)).filter((part) => part['text'] !== '' || Object.keys(part).length > 1),
  assemble(bodies, visible) {
    const last = bodies.at(-1)!
    return {
      ...last,
      ...withParts(last, visible),
      responseId: bodies[0]!['responseId'] ?? last['responseId'],
    }
  },
  stream: (isOurs) => new GeminiStream(steps, isOurs),
}

function withParts(body: Fields, parts: readonly Fields[]): Fields {
  const [candidate, ...others] = recordsIn(body['candidates'])
  const content = isRecord(candidate?.['content']) ? candidate['content'] : { role: 'model' }
  return { candidates: [{ ...candidate, content: { ...content, parts } }, ...others] }
}

class GeminiStream extends VisibleStream {
  #firstId: unknown

  protected override take(event: StreamEvent, data: Fields | undefined): readonly Passed[] {
    const candidate = data === undefined ? undefined : candidateOf(data)
    if (data === undefined || candidate === undefined) return ['same']
    this.#firstId ??= data['responseId']
    const parts = partsIn(candidate)
    const visible = parts.filter((part) => !this.isHidden(part))
    const isChanged = visible.length < parts.length || this.answers > 0
    // All events of one visible answer have the id of the first one.
    const id = this.#firstId === undefined ? {} : { responseId: this.#firstId }
    const shown = isChanged ? eventOf(event, { ...data, ...id, ...withParts(data, visible) }) : event
    if (typeof candidate['finishReason'] === 'string') return this.end(shown, data)
    return visible.length === 0 && parts.length > 0 ? [] : [shown]
  }

  protected override contentAtEnd(event: StreamEvent, data: Fields | undefined): readonly Passed[] {
    if (data === undefined || steps.partsOf(data).every((part) => part['text'] === '')) return []
    const candidates = recordsIn(data['candidates']).map((candidate) => ({ ...candidate, finishReason: undefined }))
    return [eventOf(event, { ...data, candidates })]
  }
}

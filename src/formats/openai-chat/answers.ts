import type { ModelResponse, StopReason, StreamEvent, StreamReducer } from '../../core/codec.ts'
import type { Item } from '../../core/item.ts'
import type { Usage } from '../../core/usage.ts'
import { type Fields, isRecord, listOf, numberOf, recordOf, recordsIn, stringOf, textOf } from '../../core/values.ts'
import { SSE_DONE } from '../framing.ts'
import { arrayOf } from '../kit/reading.ts'
import {
  amount,
  inOrder,
  knownUsage,
  type MutableFields,
  nested,
  parseEvent,
  addText,
  addTexts,
  reducer,
  stopWord,
} from '../kit/streams.ts'
import {
  type AnswerHead,
  type AnswerPart,
  type AnswerPiece,
  type Answers,
  type AnswerWriter,
  callPiece,
  errorTypeOf,
  isCall,
  joined,
  piece,
  PLAIN_ANSWERS,
} from '../wire/answer.ts'
import { byToolChoice, eventOf, type HiddenWire, parseInput, type Passed, VisibleStream } from '../wire/steps.ts'
import { readParts, REASONING_KEYS } from './decode.ts'

/** The prompt count includes cached tokens. */
function readUsage(fields: Fields): Usage {
  const prompt = nested(fields, 'prompt_tokens_details')
  return {
    input: amount(fields, 'prompt_tokens'),
    // DeepSeek reports cached tokens at the top level.
    cacheRead:
      numberOf(prompt['cached_tokens']) !== undefined
        ? amount(prompt, 'cached_tokens')
        : amount(fields, 'prompt_cache_hit_tokens'),
    cacheWrite: amount(prompt, 'cache_write_tokens'),
    output: amount(fields, 'completion_tokens'),
    reasoning: amount(nested(fields, 'completion_tokens_details'), 'reasoning_tokens'),
  }
}

const STOP_REASONS: Readonly<Record<string, StopReason>> = {
  stop: 'end',
  length: 'length',
  tool_calls: 'tool-use',
  function_call: 'tool-use',
  content_filter: 'refusal',
}

export function readResponse(body: unknown): ModelResponse {
  const response = recordOf(body) ?? {}
  const choice = recordOf(arrayOf(response['choices'])?.[0]) ?? {}
  const message = recordOf(choice['message']) ?? {}
  const items = readAnswer(message, REASONING_KEYS)
  const finish = stringOf(choice['finish_reason']) ?? ''
  const named = finish === 'error' ? 'error' : STOP_REASONS[finish]
  const stop = stringOf(message['refusal']) ? 'refusal' : (named ?? 'unknown')
  return {
    items,
    // Some servers say `stop` for a turn with calls.
    stop: stop === 'end' && items.some((item) => item.kind === 'call') ? 'tool-use' : stop,
    ranHostedTools: ranHostedTools(response, message) ? true : undefined,
    id: stringOf(response['id']),
    model: stringOf(response['model']),
    usage: knownUsage(readUsage, response['usage']),
  }
}

/** Whether the provider searched: OpenAI, OpenRouter, Perplexity and Groq list the sources that an answer cites. */
const ranHostedTools = (response: Fields, message: Fields): boolean =>
  [...MESSAGE_SOURCES.map((key) => message[key]), ...RESPONSE_SOURCES.map((key) => response[key])].some(
    (list) => listOf(list).length > 0,
  )

const MESSAGE_SOURCES = ['annotations', 'executed_tools'] as const
const RESPONSE_SOURCES = ['citations', 'search_results'] as const

/** The items of an answer's message. */
export const readAnswer = (message: Fields, reasoningKeys: readonly string[]): Item[] =>
  readParts({ reasoningKeys }, message, 'assistant', (...keys) => {
    let at: unknown = message
    for (const key of keys) at = (at as Fields | undefined)?.[key]
    return JSON.stringify(at) ?? '{}'
  }).map(({ core }, at) => ({ id: `r.${at}`, role: 'assistant', message: 0, ...core }))

interface Call {
  readonly start: MutableFields
  readonly asked: MutableFields
}

/** Assembles a streamed completion from the deltas of the first choice. */
export function stream(): StreamReducer {
  const head: MutableFields = {}
  let usage: unknown
  let finish: unknown = null
  const text: MutableFields = {}
  const audio: MutableFields = {}
  const legacy: MutableFields = {}
  const details: unknown[] = []
  const sources: MutableFields = {}
  const calls = new Map<number, Call>()

  const onCalls = (deltas: readonly unknown[]): void => {
    for (const [at, value] of deltas.entries()) {
      const { index: given, function: asked, custom, ...rest } = recordOf(value) ?? {}
      // Servers that do not stream calls may omit the index.
      const index = numberOf(given) ?? (stringOf(rest['id']) === undefined ? at : calls.size)
      const call = calls.get(index) ?? { start: {}, asked: {} }
      calls.set(index, call)
      for (const [key, inner] of Object.entries(rest)) if (inner !== null) call.start[key] = inner
      if (recordOf(custom) !== undefined) call.start['type'] = 'custom'
      addTexts(call.asked, recordOf(asked) ?? recordOf(custom))
    }
  }

  const onDelta = (delta: Fields): void => {
    const { role: _, audio: sound, function_call: call, ...said } = delta
    addTexts(text, said)
    addTexts(audio, recordOf(sound))
    addTexts(legacy, recordOf(call))
    details.push(...listOf(delta['reasoning_details']))
    for (const key of MESSAGE_SOURCES) if (arrayOf(delta[key]) !== undefined) sources[key] = delta[key]
    onCalls(listOf(delta['tool_calls']))
  }

  const message = (): MutableFields => {
    const out: MutableFields = { role: 'assistant', content: null, ...text, ...sources }
    for (const [key, said] of Object.entries({ audio, function_call: legacy }))
      if (Object.keys(said).length > 0) out[key] = { ...said }
    if (details.length > 0) out['reasoning_details'] = joinDetails(details)
    if (calls.size > 0) {
      out['tool_calls'] = inOrder(calls).map(({ start, asked }) => ({
        id: start['id'],
        type: 'function',
        ...start,
        [start['type'] === 'custom' ? 'custom' : 'function']: { ...asked },
      }))
    }
    return out
  }

  const body = (): Fields => ({ ...head, usage, choices: [{ index: 0, message: message(), finish_reason: finish }] })
  return reducer(readResponse, body, (event) => {
    for (const key of ['id', 'model', ...RESPONSE_SOURCES]) if (event[key] !== undefined) head[key] ??= event[key]
    // The usage chunk has no choices. Some servers send running totals in every chunk, so the last one counts.
    if (recordOf(event['usage']) !== undefined) usage = event['usage']
    for (const value of listOf(event['choices'])) {
      const choice = recordOf(value) ?? {}
      if ((numberOf(choice['index']) ?? 0) !== 0) continue
      onDelta(recordOf(choice['delta']) ?? {})
      finish = choice['finish_reason'] ?? finish
    }
  })
}

/** Joins pieces of entries with the same index: texts are appended, for other members the last value counts. */
function joinDetails(details: readonly unknown[]): MutableFields[] {
  const entries = new Map<unknown, MutableFields>()
  for (const [at, value] of details.entries()) {
    const detail = recordOf(value) ?? {}
    const key = detail['index'] ?? `at ${at}`
    const entry = entries.get(key) ?? {}
    entries.set(key, entry)
    for (const [name, inner] of Object.entries(detail)) {
      if (name === 'text' || name === 'summary' || name === 'data') addText(entry, name, inner)
      else if (inner !== null) entry[name] = inner
    }
  }
  return [...entries.values()]
}

const stopOf = (stop: StopReason): string => stopWord(STOP_REASONS, stop)

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

/** On this wire calls are numbered separately, so each answer has its own writer. */
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
      return callPiece(key, call['id'], body['name'], textOf(body['arguments']))
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
  // Only on request: other clients may not expect a chunk without choices.
  wantsUsage: (body) => /"include_usage"\s*:\s*true/.test(body),
}

/** The error body on both of OpenAI's wires. */
export function openaiError(status: number, code: string, message: string): Fields {
  return { error: { message, type: errorTypeOf(status), code, param: null } }
}

/** The parts of a chat answer: all text and reasoning as one, and each call. */
export const isText = (part: Fields): boolean => part['function'] === undefined && part['custom'] === undefined

const nameOf = (part: Fields): string => (isRecord(part['function']) ? String(part['function']['name']) : '')

export const steps: HiddenWire = {
  list: 'messages',
  admits(fields) {
    // Legacy functions have no call ids, and each of several choices would need hidden steps of its own.
    const isLegacy = fields['functions'] !== undefined
    const hasChoices = typeof fields['n'] === 'number' && fields['n'] > 1
    return isLegacy || hasChoices || recordsIn(fields['tools']).length === 0 ? 'no' : byToolChoice(fields)
  },
  callOf: (part, isOurs) =>
    isRecord(part['function']) && isOurs(nameOf(part))
      ? { id: String(part['id']), name: nameOf(part), input: parseInput(part['function']['arguments']) }
      : undefined,
  isCall: (part) => !isText(part),
  resultOf: ({ id }, text) => ({ role: 'tool', tool_call_id: id, content: text }),
  continuation: (parts, results) => [messageOfParts(parts, null), ...results],
  joinsResults: false,
  partsOf: (body) => partsOfMessage(firstChoice(body)?.['message']),
  assemble(bodies, visible) {
    const last = bodies.at(-1)!
    const [choice, ...others] = recordsIn(last['choices'])
    const message = isRecord(choice?.['message']) ? choice['message'] : {}
    const { tool_calls: _calls, ...rest } = message
    const calls = visible.filter(steps.isCall)
    const text = visible
      .filter(isText)
      .map((part) => textOf(part['content']))
      .join('')
    return {
      ...last,
      choices: [
        {
          ...choice,
          message: { ...rest, content: text === '' ? null : text, tool_calls: calls.length > 0 ? calls : undefined },
          finish_reason: finishOf(choice?.['finish_reason'], calls.length > 0),
        },
        ...others,
      ],
      id: bodies[0]!['id'],
    }
  },
  stream: (isOurs) => new ChatStream(steps, isOurs),
}

const firstChoice = (body: Fields): Fields | undefined => recordsIn(body['choices'])[0]

const finishOf = (reason: unknown, hasCalls: boolean): unknown =>
  reason === 'tool_calls' && !hasCalls ? 'stop' : reason

export function partsOfMessage(message: unknown): readonly Fields[] {
  if (!isRecord(message)) return []
  const { tool_calls: calls, role: _role, ...text } = message
  const hasText = Object.values(text).some((value) => typeof value === 'string' && value !== '')
  return [...(hasText ? [text] : []), ...recordsIn(calls)]
}

/** An assistant message with these parts; `content` is used if they have no text. */
export function messageOfParts(parts: readonly Fields[], content: string | null): Fields {
  const calls = parts.filter((part) => !isText(part))
  const [text] = parts.filter(isText)
  return { role: 'assistant', content, ...text, tool_calls: calls.length > 0 ? calls : undefined }
}

class ChatStream extends VisibleStream {
  #firstId: unknown

  protected override take(event: StreamEvent, data: Fields | undefined): readonly Passed[] {
    if (event.data === SSE_DONE) return this.end(event, data)
    if (data === undefined) return ['same']
    this.#firstId ??= data['id']
    const choice = firstChoice(data)
    if (choice === undefined) return isRecord(data['usage']) ? this.end(event, data) : ['same']
    const shown = this.#visibleDelta(isRecord(choice['delta']) ? choice['delta'] : {})
    if ((choice['finish_reason'] ?? null) !== null) {
      const ending = this.isChanged ? this.#rewritten(event, data, choice, { delta: shown ?? {} }) : event
      return this.end(ending, ending === event ? data : parseEvent(ending.data))
    }
    if (!this.isChanged) return ['same']
    return shown === undefined ? [] : [this.#rewritten(event, data, choice, { delta: shown })]
  }

  /** Undefined when the delta contains nothing for the client. */
  #visibleDelta(delta: Fields): Fields | undefined {
    const { tool_calls: calls, ...rest } = delta
    const kept = recordsIn(calls).flatMap((call) => {
      const number = Number(call['index'] ?? this.shown.size)
      if (!this.shown.has(number)) this.begin(number, call)
      const index = this.shown.get(number)
      return index === undefined ? [] : [{ ...call, index }]
    })
    const says = Object.entries(rest).some(([key, value]) => key !== 'role' && value !== '' && value !== null)
    if (kept.length > 0) return { ...rest, tool_calls: kept }
    // The first chunk of a later answer contains only its role.
    return says || (calls === undefined && this.answers === 0) ? rest : undefined
  }

  #rewritten(event: StreamEvent, data: Fields, choice: Fields, changes: Fields): StreamEvent {
    return eventOf(event, { ...data, id: this.#firstId, choices: [{ ...choice, ...changes }] })
  }

  protected override ending(event: StreamEvent, data: Fields | undefined): Passed {
    if (data === undefined || !this.isChanged) return event
    const choice = firstChoice(data)
    if (choice === undefined) return eventOf(event, { ...data, id: this.#firstId })
    const finish_reason = finishOf(choice['finish_reason'], this.hasShown)
    return this.#rewritten(event, data, choice, { finish_reason })
  }

  protected override contentAtEnd(event: StreamEvent, data: Fields | undefined): readonly Passed[] {
    const choice = data === undefined ? undefined : firstChoice(data)
    const delta = isRecord(choice?.['delta']) ? choice['delta'] : {}
    if (typeof delta['content'] !== 'string' || delta['content'] === '') return []
    return [eventOf(event, { ...data, choices: [{ ...choice, finish_reason: null }] })]
  }
}

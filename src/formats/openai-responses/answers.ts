import type { ModelResponse, StopReason, StreamEvent, StreamReducer } from '../../core/codec.ts'
import type { Item } from '../../core/item.ts'
import type { Usage } from '../../core/usage.ts'
import { listOf, type Fields, isRecord, numberOf, recordOf, recordsIn, stringOf, textOf } from '../../core/values.ts'
import {
  amount,
  inOrder,
  knownUsage,
  type MutableFields,
  nested,
  addText,
  plainErrorIn,
  reducer,
} from '../kit/streams.ts'
import { openaiError } from '../openai-chat/answers.ts'
import {
  type AnswerEnd,
  type AnswerHead,
  type AnswerPart,
  type AnswerPiece,
  type Answers,
  type AnswerWriter,
  callPiece,
  isCall,
  piece,
  PLAIN_ANSWERS,
} from '../wire/answer.ts'
import { byToolChoice, eventOf, type HiddenWire, parseInput, type Passed, VisibleStream } from '../wire/steps.ts'
import { readItem, readPart, type RoledCore, typeOf } from './decode.ts'
import { repeatable } from './encode.ts'

/** The input count includes cached tokens. The details distinguish it from another vendor's report with the same names. */
function readUsage(fields: Fields): Usage {
  const input = nested(fields, 'input_tokens_details')
  return {
    input: amount(fields, 'input_tokens'),
    cacheRead: amount(input, 'cached_tokens'),
    cacheWrite: amount(input, 'cache_write_tokens'),
    output: amount(fields, 'output_tokens'),
    reasoning: amount(nested(fields, 'output_tokens_details'), 'reasoning_tokens'),
  }
}

export function readResponse(body: unknown): ModelResponse {
  const response = recordOf(body) ?? {}
  const output = listOf(response['output']).map((value) => recordOf(value) ?? {})
  const items = output.flatMap((fields, message): Item[] =>
    readOutputItem(fields).map((core, at) => ({ id: `r${message}.${at}`, message, ...core })),
  )
  return {
    items,
    stop: stopReason(response, output, items),
    id: stringOf(response['id']),
    model: stringOf(response['model']),
    usage: knownUsage(readUsage, response['usage']),
    repeatable: repeatable(response),
    cacheMissReason: missReason(recordOf(response['prompt_cache_diagnostics']) ?? {}),
  }
}

/** The vendor's word for what kept a prompt from being read, or for why it cannot tell. */
const missReason = ({ type, reason }: Fields): string | undefined => stringOf(reason) ?? stringOf(type)

function readOutputItem(fields: Fields): RoledCore[] {
  if (typeOf(fields) !== 'message') {
    return [readItem(fields, (key) => JSON.stringify(key === undefined ? fields : fields[key]) ?? '')]
  }
  return listOf(fields['content']).map((value) => {
    const part = recordOf(value) ?? {}
    return readPart(part, 'assistant', () => JSON.stringify(part))
  })
}

function stopReason(response: Fields, output: readonly Fields[], items: readonly Item[]): StopReason {
  if (response['status'] === 'failed' || response['status'] === 'cancelled') return 'error'
  if (response['status'] === 'incomplete') {
    const reason = recordOf(response['incomplete_details'])?.['reason']
    return reason === 'max_output_tokens' ? 'length' : reason === 'content_filter' ? 'refusal' : 'unknown'
  }
  const parts = output.flatMap((fields) => listOf(fields['content']))
  if (parts.some((part) => recordOf(part)?.['type'] === 'refusal')) return 'refusal'
  if (items.some((item) => item.kind === 'call' && item.serverSide !== true)) return 'tool-use'
  return response['status'] === 'completed' ? 'end' : 'unknown'
}

/** An output item while it is streamed. `done` is the complete item, once the server has sent it. */
interface Growing {
  readonly start: Fields
  readonly said: MutableFields
  readonly done?: Fields | undefined
}

/** The member that each kind of delta extends; indexed deltas extend parts of a list. */
const DELTAS: Readonly<Record<string, { readonly list?: string; readonly field: string; readonly part?: string }>> = {
  'response.output_text.delta': { list: 'content', field: 'text', part: 'output_text' },
  'response.refusal.delta': { list: 'content', field: 'refusal', part: 'refusal' },
  'response.reasoning_text.delta': { list: 'content', field: 'text', part: 'reasoning_text' },
  'response.reasoning_summary_text.delta': { list: 'summary', field: 'text', part: 'summary_text' },
  'response.function_call_arguments.delta': { field: 'arguments' },
  'response.mcp_call_arguments.delta': { field: 'arguments' },
  'response.custom_tool_call_input.delta': { field: 'input' },
  'response.code_interpreter_call_code.delta': { field: 'code' },
}

const ENDS = new Set(['response.completed', 'response.incomplete', 'response.failed'])

/** Assembles a streamed response. The closing event repeats it in full; a cut stream is rebuilt from its deltas. */
export function stream(): StreamReducer {
  let response: Fields = {}
  const items = new Map<number, Growing>()
  const body = (): Fields => {
    const closing = listOf(response['output'])
    // Some servers send an empty list in the closing event, after they sent the items one by one.
    return { ...response, output: closing.length > 0 ? closing : inOrder(items).map(finishItem) }
  }
  return reducer(readResponse, body, (event, seen, name) => {
    const type = stringOf(event['type']) ?? name ?? ''
    const index = numberOf(event['output_index']) ?? items.size
    const item = items.get(index) ?? { start: {}, said: {} }
    const delta = DELTAS[type]
    if (delta !== undefined) {
      const at = numberOf(event[delta.list === 'summary' ? 'summary_index' : 'content_index']) ?? 0
      const name = delta.list === undefined ? delta.field : `${delta.list} ${at} ${delta.part}`
      addText(item.said, name, event['delta'])
      items.set(index, item)
    } else if (type === 'response.output_item.added') {
      items.set(index, { start: recordOf(event['item']) ?? {}, said: {} })
    } else if (type === 'response.output_item.done') {
      items.set(index, { ...item, done: recordOf(event['item']) ?? item.done })
    } else if (recordOf(event['response']) !== undefined) {
      response = { ...response, ...recordOf(event['response']) }
      if (type === 'response.failed') seen.error = response['error'] ?? response
      if (ENDS.has(type)) seen.done = true
    }
  })
}

function finishItem({ start, said, done }: Growing): Fields {
  if (done !== undefined) return done
  const item: MutableFields = { ...start }
  const lists = new Map<string, Map<number, unknown>>()
  for (const [name, text] of Object.entries(said)) {
    const [list = '', at, type] = name.split(' ')
    if (type === undefined) {
      item[name] = (stringOf(start[name]) ?? '') + String(text)
      continue
    }
    const parts = lists.get(list) ?? new Map<number, unknown>()
    lists.set(list, parts)
    parts.set(Number(at), { type, [type === 'refusal' ? 'refusal' : 'text']: text })
  }
  for (const [list, parts] of lists) item[list] = inOrder(parts)
  return item
}

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

/** Events are numbered, so each answer has its own writer. */
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
    return callPiece(key, item['call_id'], item['name'], textOf(item['arguments']))
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

export const steps: HiddenWire = {
  list: 'input',
  admits(fields) {
    // A background answer is fetched by id without passing through us; a stored history or prompt may have tools of any name.
    const isElsewhere = ['previous_response_id', 'conversation', 'prompt'].some((key) => (fields[key] ?? null) !== null)
    if (isElsewhere || fields['background'] === true) return 'no'
    return recordsIn(fields['tools']).some(isRunByClient) ? byToolChoice(fields) : 'no'
  },
  callOf: (part, isOurs) =>
    part['type'] === 'function_call' && isOurs(String(part['name']))
      ? { id: String(part['call_id']), name: String(part['name']), input: parseInput(part['arguments']) }
      : undefined,
  isCall: (part) => part['type'] === 'function_call' || part['type'] === 'custom_tool_call',
  resultOf: ({ id }, text) => ({ type: 'function_call_output', call_id: id, output: text }),
  continuation: (parts, results) => [...parts, ...results],
  joinsResults: false,
  partsOf: (body) => recordsIn(body['output']),
  assemble: (bodies, visible) => ({
    ...bodies.at(-1)!,
    output: visible,
  }),
  stream: (isOurs) => new ResponsesStream(steps, isOurs),
}

const isRunByClient = ({ type }: Fields): boolean =>
  ['function', 'custom', 'local_shell', 'shell', 'apply_patch'].includes(textOf(type))

class ResponsesStream extends VisibleStream {
  #visible: Fields[] = []
  #firstId: unknown
  #sequence = 0

  protected override take(event: StreamEvent, data: Fields | undefined): readonly Passed[] {
    if (data === undefined) return ['same']
    const type = String(data['type'])
    if (ENDS.has(type)) return this.end(event, data)
    if (isRecord(data['response'])) this.#firstId ??= data['response']['id']
    if ((type === 'response.created' || type === 'response.in_progress') && this.answers > 0) return []
    const { output_index: index, item } = data
    if (typeof index !== 'number') return [this.#numbered(event, data)]
    if (type === 'response.output_item.added' && isRecord(item)) this.begin(index, item)
    const shown = this.shown.get(index)
    if (shown === undefined) return []
    if (type === 'response.output_item.done' && isRecord(item)) this.#visible.push(item)
    return [this.#numbered(event, data, shown)]
  }

  #numbered(event: StreamEvent, data: Fields, shown?: number): Passed {
    const sequence = this.#sequence++
    if (!this.isChanged) return 'same'
    return eventOf(event, {
      ...data,
      output_index: shown ?? data['output_index'],
      sequence_number: data['sequence_number'] !== undefined ? sequence : undefined,
    })
  }

  protected override ending(event: StreamEvent, data: Fields): Passed {
    const response = isRecord(data['response']) ? data['response'] : {}
    // One id for the whole stream. If the provider stores the answer, the client may chain to it, so it gets the last one, which contains
    // everything.
    const id = response['store'] === true ? response['id'] : (this.#firstId ?? response['id'])
    const whole = { ...response, id, output: this.#visible }
    return this.#numbered(event, { ...data, response: whole })
  }
}

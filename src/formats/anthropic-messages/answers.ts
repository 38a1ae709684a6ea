import type { ModelResponse, StopReason, StreamEvent, StreamReducer } from '../../core/codec.ts'
import type { Item } from '../../core/item.ts'
import type { Usage } from '../../core/usage.ts'
import { listOf, type Fields, numberOf, parsedJson, recordOf, recordsIn, stringOf, textOf } from '../../core/values.ts'
import { amount, inOrder, knownUsage, type MutableFields, nested, addText, reducer, stopWord } from '../kit/streams.ts'
import {
  type AnswerHead,
  type AnswerPart,
  type AnswerPiece,
  type Answers,
  type AnswerWriter,
  argumentsOf,
  callPiece,
  errorTypeOf,
  piece,
  PLAIN_ANSWERS,
} from '../wire/answer.ts'
import { byToolChoice, eventOf, type HiddenWire, type Passed, VisibleStream } from '../wire/steps.ts'
import { readBlock } from './decode.ts'

/** The vendor's input count excludes cached tokens; ours includes them. */
function readUsage(fields: Fields): Usage {
  const cacheRead = amount(fields, 'cache_read_input_tokens')
  const lifetimes = nested(fields, 'cache_creation')
  const cacheWriteLong = amount(lifetimes, 'ephemeral_1h_input_tokens')
  const cacheWrite = Math.max(
    amount(fields, 'cache_creation_input_tokens'),
    cacheWriteLong + amount(lifetimes, 'ephemeral_5m_input_tokens'),
  )
  return {
    input: amount(fields, 'input_tokens') + cacheRead + cacheWrite,
    cacheRead,
    cacheWrite,
    cacheWriteLong: cacheWriteLong > 0 ? cacheWriteLong : undefined,
    output: amount(fields, 'output_tokens'),
    reasoning: 0,
  }
}

export const STOP_REASONS: Readonly<Record<string, StopReason>> = {
  end_turn: 'end',
  stop_sequence: 'end',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool-use',
  refusal: 'refusal',
  pause_turn: 'pause',
}

/** The vendor's word for what differs; it has no reason yet while it still compares, and says nothing where nothing differs. */
const missReason = (diagnosed: Fields | undefined): string | undefined =>
  diagnosed && (stringOf(recordOf(diagnosed['cache_miss_reason'])?.['type']) ?? 'pending')

export function readResponse(body: unknown): ModelResponse {
  const message = recordOf(body) ?? {}
  const items = listOf(message['content']).map((value, block): Item => {
    const fields = recordOf(value) ?? {}
    const read = readBlock(
      fields,
      'assistant',
      () => JSON.stringify(fields),
      () => JSON.stringify(fields['input'] ?? {}),
    )
    return { id: `r.${block}`, role: 'assistant', message: 0, ...read }
  })
  return {
    items,
    stop: STOP_REASONS[stringOf(message['stop_reason']) ?? ''] ?? 'unknown',
    id: stringOf(message['id']),
    model: stringOf(message['model']),
    usage: knownUsage(readUsage, message['usage']),
    cacheMissReason: missReason(recordOf(message['diagnostics'])),
  }
}

/** The member of a block that each kind of delta extends. */
const DELTAS: Readonly<Record<string, string>> = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  signature_delta: 'signature',
  input_json_delta: 'partial_json',
}

export function stream(): StreamReducer {
  let message: MutableFields = {}
  let usage: MutableFields = {}
  const blocks = new Map<number, MutableFields>()
  const body = (): Fields => ({ ...message, usage, content: inOrder(blocks).map(finishBlock) })
  return reducer(readResponse, body, (event, seen) => {
    const { type } = event
    if (type === 'message_start') {
      message = { ...recordOf(event['message']) }
      usage = { ...recordOf(message['usage']) }
    } else if (type === 'content_block_start') {
      blocks.set(numberOf(event['index']) ?? blocks.size, { ...recordOf(event['content_block']) })
    } else if (type === 'content_block_delta') {
      const block = blocks.get(numberOf(event['index']) ?? -1) ?? {}
      const delta = recordOf(event['delta']) ?? {}
      const member = DELTAS[stringOf(delta['type']) ?? '']
      if (member !== undefined) addText(block, member, delta[member])
      else if (delta['type'] === 'citations_delta')
        block['citations'] = [...listOf(block['citations']), delta['citation']]
    } else if (type === 'message_delta') {
      message = { ...message, ...recordOf(event['delta']) }
      // The usage of the closing event is cumulative and may omit numbers of the opening event.
      for (const [key, value] of Object.entries(recordOf(event['usage']) ?? {})) if (value !== null) usage[key] = value
    } else if (type === 'message_stop') seen.done = true
  })
}

function finishBlock({ partial_json: json, ...block }: MutableFields): MutableFields {
  // A cut stream leaves incomplete arguments; what arrived of them is kept.
  if (typeof json === 'string' && json !== '') block['input'] = parsedJson(json) ?? { partial: json }
  return block
}

export const stopOf = (stop: StopReason): string => stopWord(STOP_REASONS, stop)

/** On this wire, cached tokens are reported beside the input, not within it. */
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
    if (block?.['type'] === 'tool_use') return callPiece(key, block['id'], block['name'])
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

export const steps: HiddenWire = {
  list: 'messages',
  admits: (fields) => (recordsIn(fields['tools']).some(isRunByClient) ? byToolChoice(fields) : 'no'),
  callOf: (part, isOurs) =>
    part['type'] === 'tool_use' && isOurs(String(part['name']))
      ? { id: String(part['id']), name: String(part['name']), input: part['input'] ?? {} }
      : undefined,
  isCall: (part) => part['type'] === 'tool_use',
  resultOf: ({ id }, text) => ({ type: 'tool_result', tool_use_id: id, content: text }),
  continuation: (parts, results) => [
    { role: 'assistant', content: parts },
    { role: 'user', content: results },
  ],
  joinsResults: true,
  partsOf: (body) => recordsIn(body['content']),
  assemble(bodies, visible) {
    const last = bodies.at(-1)!
    return {
      ...last,
      id: bodies[0]!['id'],
      content: visible,
      stop_reason: shownStop(last['stop_reason'], visible.some(steps.isCall)),
    }
  },
  stream: (isOurs) => new AnthropicStream(steps, isOurs),
}

/** Tools that the client runs: declared with a schema, or one of Anthropic's client-side tools. */
const isRunByClient = (tool: Fields): boolean =>
  tool['input_schema'] !== undefined || /^(?:bash|text_editor|computer|memory)_/.test(textOf(tool['type']))

/** `tool_use` becomes `end_turn` if none of the visible calls is the client's. */
export const shownStop = (reason: unknown, hasCalls: boolean): unknown =>
  reason === 'tool_use' && !hasCalls ? 'end_turn' : reason

class AnthropicStream extends VisibleStream {
  /** The usage of the current answer: the first event has the input, the last one the output. */
  #usage: unknown
  #hasCalls = false

  protected override take(event: StreamEvent, data: Fields | undefined): readonly Passed[] {
    switch (data?.['type']) {
      case 'message_start':
        this.#usage = recordOf(data['message'])?.['usage']
        return this.answers === 0 ? ['same'] : []
      case 'content_block_start':
      case 'content_block_delta':
      case 'content_block_stop': {
        const block = recordOf(data['content_block'])
        if (block !== undefined) this.begin(data['index'], block)
        const index = this.shown.get(data['index'])
        if (index === undefined) return []
        if (block?.['type'] === 'tool_use') this.#hasCalls = true
        return index === data['index'] ? ['same'] : [eventOf(event, { ...data, index })]
      }
      case 'message_delta':
      case 'message_stop':
        return this.end(event, data)
      default:
        return ['same']
    }
  }

  protected override ending(event: StreamEvent, data: Fields): Passed {
    if (data['type'] !== 'message_delta') return event
    if (!this.isChanged) return 'same'
    const delta = recordOf(data['delta']) ?? {}
    return eventOf(event, {
      ...data,
      delta: { ...delta, stop_reason: shownStop(delta['stop_reason'], this.#hasCalls) },
      // The client already has the first answer's input; the last answer's shows how full the window is.
      usage: { ...recordOf(this.#usage), ...recordOf(data['usage']) },
    })
  }
}

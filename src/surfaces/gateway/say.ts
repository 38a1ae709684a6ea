import type { ServerSentEvent } from '../../core/codec.ts'
import { formatSseEvent, SSE_DONE } from '../../formats/sse.ts'
import type { Answer } from './answer.ts'

export interface Saying {
  readonly text: string
  readonly model: string
  /** Unique; becomes part of the vendor-style id. */
  readonly id: string
  readonly nowSeconds: number
  readonly stream: false | 'sse' | 'json-array'
}

type Json = Readonly<Record<string, unknown>>

interface Voice {
  whole(saying: Saying): Json
  events(saying: Saying): readonly ServerSentEvent[]
}

/** A complete, valid answer of the client's own wire, said by us: what a `halt` looks like to an SDK. */
export function say(wire: string, saying: Saying, headers: Readonly<Record<string, string>> = {}): Answer {
  const voice = VOICES[wire] ?? chat
  if (saying.stream === 'sse') {
    return {
      status: 200,
      headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache', ...headers },
      body: voice.events(saying).map(formatSseEvent).join(''),
    }
  }
  const whole = voice.whole(saying)
  return {
    status: 200,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(saying.stream === 'json-array' ? [whole] : whole),
  }
}

const named = (type: string, fields: Json): ServerSentEvent => ({
  event: type,
  data: JSON.stringify({ type, ...fields }),
})

const anthropic: Voice = {
  whole: ({ id, model, text }) => ({
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
  }),
  events(saying) {
    const { content: _, ...message } = this.whole(saying)
    return [
      named('message_start', { message: { ...message, content: [], stop_reason: null } }),
      named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
      named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: saying.text } }),
      named('content_block_stop', { index: 0 }),
      named('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 0 } }),
      named('message_stop', {}),
    ]
  },
}

const NO_CHAT_USAGE = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }

const chat: Voice = {
  whole: ({ id, model, text, nowSeconds }) => ({
    id: `chatcmpl-${id}`,
    object: 'chat.completion',
    created: nowSeconds,
    model,
    choices: [
      { index: 0, message: { role: 'assistant', content: text, refusal: null }, logprobs: null, finish_reason: 'stop' },
    ],
    usage: NO_CHAT_USAGE,
  }),
  events({ id, model, text, nowSeconds }) {
    const chunk = (delta: Json, finish: string | null): ServerSentEvent => ({
      data: JSON.stringify({
        id: `chatcmpl-${id}`,
        object: 'chat.completion.chunk',
        created: nowSeconds,
        model,
        choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      }),
    })
    return [
      chunk({ role: 'assistant', content: '' }, null),
      chunk({ content: text }, null),
      chunk({}, 'stop'),
      { data: SSE_DONE },
    ]
  },
}

const responses: Voice = {
  whole: ({ id, model, text, nowSeconds }) => ({
    id: `resp_${id}`,
    object: 'response',
    created_at: nowSeconds,
    status: 'completed',
    error: null,
    incomplete_details: null,
    instructions: null,
    model,
    output: [messageItem(id, text, 'completed')],
    parallel_tool_calls: true,
    tool_choice: 'auto',
    tools: [],
    metadata: {},
    usage: {
      input_tokens: 0,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 0,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 0,
    },
  }),
  events(saying) {
    const { id, text } = saying
    const whole = this.whole(saying)
    const begun = { ...whole, status: 'in_progress', output: [], usage: null }
    const at = { item_id: `msg_${id}`, output_index: 0, content_index: 0 }
    const part = { type: 'output_text', text, annotations: [] }
    const steps: [string, Json][] = [
      ['response.created', { response: begun }],
      ['response.in_progress', { response: begun }],
      ['response.output_item.added', { output_index: 0, item: { ...messageItem(id, '', 'in_progress'), content: [] } }],
      ['response.content_part.added', { ...at, part: { ...part, text: '' } }],
      ['response.output_text.delta', { ...at, delta: text, logprobs: [] }],
      ['response.output_text.done', { ...at, text, logprobs: [] }],
      ['response.content_part.done', { ...at, part }],
      ['response.output_item.done', { output_index: 0, item: messageItem(id, text, 'completed') }],
      ['response.completed', { response: whole }],
    ]
    return steps.map(([type, fields], i) => named(type, { sequence_number: i, ...fields }))
  },
}

const messageItem = (id: string, text: string, status: string): Json => ({
  id: `msg_${id}`,
  type: 'message',
  role: 'assistant',
  status,
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
})

const gemini: Voice = {
  whole: ({ id, model, text }) => ({
    candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 0, candidatesTokenCount: 0, totalTokenCount: 0 },
    modelVersion: model,
    responseId: id,
  }),
  events(saying) {
    return [{ data: JSON.stringify(this.whole(saying)) }]
  },
}

const VOICES: Readonly<Record<string, Voice>> = {
  'anthropic-messages': anthropic,
  'openai-chat': chat,
  'openai-responses': responses,
  gemini,
}

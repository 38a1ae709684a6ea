import { isRecord, recordsIn, textOf, type Fields } from '../../../core/values.ts'
import { checkOllamaChat } from '../../../formats/ollama-chat/rules.ts'
import { type AnswerPart, stopOf } from '../brain.ts'
import type { Dialect, Failure, RenderContext, Rendered, RequestFacts, Route, Segment } from '../types.ts'
import { pieces, toolSegment } from './pieces.ts'

// About what chat templates of open models put around a message and around a call.
const FRAME = 5
const CALL_FRAME = 10
/** A picture, as the common vision models see it. */
const IMAGE_TOKENS = 576

/** Ollama's own chat. It refuses little, and cuts the front off what does not fit without a word. */
export const ollamaChat: Dialect = {
  wire: 'ollama-chat',
  route(method, path) {
    const [route = ''] = path.split('?')
    if (method === 'POST' && route.endsWith('/api/chat')) return { kind: 'generate' }
    return method === 'GET' && route.endsWith('/api/tags') ? { kind: 'models' } : undefined
  },
  check: checkOllamaChat,
  read,
  authorise: () => undefined,
  // Said when truncation is switched off.
  overflow: () => ({ kind: 'overflow', status: 400, message: 'the input length exceeds the context length' }),
  error: errorOf,
  errorEvent: (failure) => ({ data: JSON.stringify(errorOf(failure)) }),
  refuseInside: (failure) => ({ body: errorOf(failure), events: [{ data: JSON.stringify(errorOf(failure)) }] }),
  render,
  count: (tokens) => ({ prompt_eval_count: tokens }),
  models: (ids) => ({ models: ids.map((name) => ({ name, model: name })) }),
  keepAlive: '\n',
  cache: { mode: 'automatic', minimumTokens: 1, blockTokens: 1, shortTtlSeconds: 300, longTtlSeconds: 300 },
  overflows: 'truncate-front',
  fits: 'input',
}

function errorOf({ message }: Failure): { readonly error: string } {
  return { error: message }
}

function read(body: Fields, route: Route): RequestFacts {
  const options = isRecord(body['options']) ? body['options'] : {}
  const { num_ctx: window, num_predict: cap } = options
  return {
    model: route.model ?? textOf(body['model']),
    stream: body['stream'] !== false,
    maxOutput: typeof cap === 'number' && cap > 0 ? cap : undefined,
    window: typeof window === 'number' && window > 0 ? window : undefined,
    segments: segmentsOf(body),
    tools: recordsIn(body['tools']).map((tool) => (isRecord(tool['function']) ? textOf(tool['function']['name']) : '')),
  }
}

function segmentsOf(body: Fields): Segment[] {
  const tools = recordsIn(body['tools']).map(toolSegment)
  const messages = recordsIn(body['messages']).map((message, index): Segment => {
    const calls = recordsIn(message['tool_calls']).map((call) => JSON.stringify(call['function'] ?? {}))
    const images = Array.isArray(message['images']) ? (message['images'] as readonly unknown[]) : []
    const words = [message['thinking'], message['content']].map(textOf).filter((text) => text !== '')
    return {
      path: `messages[${index}]`,
      section: message['role'] === 'system' ? 'system' : 'messages',
      key: JSON.stringify(message),
      text: [...words, ...calls].join('\n'),
      extraTokens: FRAME + calls.length * CALL_FRAME + images.length * IMAGE_TOKENS,
    }
  })
  return [...tools, ...messages]
}

const joined = (parts: readonly AnswerPart[], ...types: readonly string[]): string =>
  parts.map((part) => ('text' in part && types.includes(part.type) ? part.text : '')).join('')

function render(context: RenderContext): Rendered {
  const { facts, answer, usage, nowSeconds, id } = context
  const { parts } = answer
  const head = { model: facts.model, created_at: new Date(nowSeconds * 1000).toISOString() }
  const [text, thinking] = [joined(parts, 'text', 'refusal'), joined(parts, 'reasoning')]
  const calls = parts.flatMap((part, index) =>
    part.type === 'call'
      ? [{ id: part.id ?? id('call', index), function: { index, name: part.name, arguments: part.input } }]
      : [],
  )
  const end = {
    done: true,
    done_reason: stopOf(answer) === 'length' ? 'length' : 'stop',
    total_duration: 1_000_000,
    ...(usage !== undefined && { prompt_eval_count: usage.input, eval_count: usage.output }),
  }
  const message = {
    role: 'assistant',
    content: text,
    thinking: thinking !== '' ? thinking : undefined,
    tool_calls: calls.length > 0 ? calls : undefined,
  }
  const line = (fields: Fields, rest: Fields = { done: false }): { readonly data: string } => ({
    data: JSON.stringify({ ...head, message: { role: 'assistant', content: '', ...fields }, ...rest }),
  })
  return {
    body: { ...head, message, ...end },
    events: [
      ...pieces(thinking).map((piece) => line({ thinking: piece })),
      ...pieces(text).map((piece) => line({ content: piece })),
      ...calls.map((call) => line({ tool_calls: [call] })),
      line({}, end),
    ],
  }
}

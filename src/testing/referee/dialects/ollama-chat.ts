import { isRecord, recordsIn, textOf, type Fields } from '../../../core/values.ts'
import { checkOllamaChat } from '../../../formats/ollama-chat/rules.ts'
import type { Dialect, RenderContext, Rendered, RequestFacts, Route, Segment } from '../types.ts'
import { functionNames, routeBy, toolSegment, written } from './pieces.ts'

// The approximate overhead of open models' chat templates for a message and for a call.
const FRAME = 5
const CALL_FRAME = 10
/** The tokens of a picture in common vision models. */
const IMAGE_TOKENS = 576

/** Ollama's own chat API. It refuses little, and silently removes the front of a prompt that does not fit. */
export const ollamaChat: Dialect = {
  wire: 'ollama-chat',
  route: routeBy({ 'POST /api/chat': 'generate', 'GET /api/tags': 'models' }),
  check: checkOllamaChat,
  read,
  authorise: () => undefined,
  // The error when truncation is switched off.
  overflow: () => ({ kind: 'overflow', status: 400, message: 'the input length exceeds the context length' }),
  error: ({ message }) => ({ error: message }),
  render,
  count: (tokens) => ({ prompt_eval_count: tokens }),
  models: (ids) => ({ models: ids.map((name) => ({ name, model: name })) }),
  keepAlive: '\n',
  cache: { mode: 'automatic', minimumTokens: 1, blockTokens: 1, shortTtlSeconds: 300, longTtlSeconds: 300 },
  overflows: 'truncate-front',
  fits: 'input',
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
    tools: functionNames(body['tools']),
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

function render(context: RenderContext): Rendered {
  const { body, events } = written('ollama-chat', context)
  if (context.usage !== undefined) return { body, events }
  return {
    body: withoutCounts(body),
    events: events.map(({ data }) => ({ data: JSON.stringify(withoutCounts(JSON.parse(data))) })),
  }
}

function withoutCounts(line: unknown): Fields {
  const { prompt_eval_count: _prompt, eval_count: _answer, ...rest } = line as Fields
  return rest
}

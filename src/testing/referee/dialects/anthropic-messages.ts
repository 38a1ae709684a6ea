import { checkAnthropicMessages } from '../../../formats/anthropic-messages/rules.ts'
import type { Dialect, Failure, FailureKind } from '../types.ts'
import { renderAnthropic } from './anthropic-render.ts'
import { readAnthropic } from './anthropic-segments.ts'
import { verifyAnthropic } from './anthropic-verify.ts'

const ERROR_TYPES: Record<FailureKind, string> = {
  invalid: 'invalid_request_error',
  overflow: 'invalid_request_error',
  'too-large': 'request_too_large',
  throttle: 'rate_limit_error',
  server: 'api_error',
  overloaded: 'overloaded_error',
  auth: 'authentication_error',
  'not-found': 'not_found_error',
}

/** The Messages API: errors, routes, cache rule. Its segments, answers and seals have files of their own. */
export const anthropicMessages: Dialect = {
  wire: 'anthropic-messages',
  route(method, path) {
    const [route = ''] = path.split('?')
    if (method === 'POST' && route.endsWith('/v1/messages')) return { kind: 'generate' }
    if (method === 'POST' && route.endsWith('/v1/messages/count_tokens')) return { kind: 'count' }
    return method === 'GET' && route.endsWith('/v1/models') ? { kind: 'models' } : undefined
  },
  check: checkAnthropicMessages,
  read: readAnthropic,
  authorise({ headers }, apiKey) {
    const given = headers['x-api-key'] ?? headers.authorization?.replace(/^Bearer /i, '')
    if (given === undefined) return unauthorised('x-api-key header is required')
    if (apiKey !== undefined && given !== apiKey) return unauthorised('invalid x-api-key')
    if (headers['anthropic-version'] !== undefined) return undefined
    return { kind: 'invalid', status: 400, message: 'anthropic-version: header is required', rule: 'version-header' }
  },
  verify: verifyAnthropic,
  overflow({ input, maxOutput, window }) {
    const message =
      input > window
        ? `prompt is too long: ${input} tokens > ${window} maximum`
        : `input length and \`max_tokens\` exceed context limit: ${input} + ${maxOutput} > ${window}, ` +
          'decrease input length or `max_tokens` and try again'
    return { kind: 'overflow', status: 400, message }
  },
  error: errorBody,
  errorEvent: (failure, id) => ({ event: 'error', data: JSON.stringify(errorBody(failure, id)) }),
  refuseInside(failure, id) {
    const body = errorBody(failure, id)
    const message = {
      id: `msg_${id}`,
      type: 'message',
      role: 'assistant',
      model: 'referee-model',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 0, output_tokens: 0 },
    }
    return {
      body,
      events: [
        { event: 'message_start', data: JSON.stringify({ type: 'message_start', message }) },
        { event: 'ping', data: '{"type":"ping"}' },
        { event: 'error', data: JSON.stringify(body) },
      ],
    }
  },
  render: renderAnthropic,
  count: (tokens) => ({ input_tokens: tokens }),
  models: (ids, window) => ({
    data: ids.map((id) => ({
      type: 'model',
      id,
      display_name: id,
      created_at: '2026-01-01T00:00:00Z',
      max_input_tokens: window,
    })),
    has_more: false,
    first_id: ids[0] ?? null,
    last_id: ids.at(-1) ?? null,
  }),
  keepAlive: 'event: ping\ndata: {"type": "ping"}\n\n',
  cache: { mode: 'marks', minimumTokens: 1024, blockTokens: 1, shortTtlSeconds: 300, longTtlSeconds: 3600 },
  overloadedStatus: 529,
  namesPaths: true,
  fits: 'input-plus-output',
}

function errorBody(failure: Failure, id: string): unknown {
  const error = { type: ERROR_TYPES[failure.kind], message: failure.message }
  return { type: 'error', error, request_id: id }
}

const unauthorised = (message: string): Failure => ({ kind: 'auth', status: 401, message })

import type { StreamEvent } from '../../../core/codec.ts'
import { checkOpenAiResponses } from '../../../formats/openai-responses/rules.ts'
import type { Dialect } from '../types.ts'
import { authoriseBearer, openAiError, openAiModels } from './openai-errors.ts'
import { renderResponses } from './openai-responses-render.ts'
import { readResponses } from './openai-responses-segments.ts'
import { verifyResponses } from './openai-responses-verify.ts'

/** The Responses API: stateless, or chained through `previous_response_id`. */
export const openAiResponses: Dialect = {
  wire: 'openai-responses',
  route(method, path) {
    const [route = ''] = path.split('?')
    if (method === 'POST' && route.endsWith('/responses')) return { kind: 'generate' }
    if (method === 'POST' && route.endsWith('/responses/compact')) return { kind: 'compact' }
    if (method === 'POST' && route.endsWith('/responses/input_tokens')) return { kind: 'count' }
    return method === 'GET' && route.endsWith('/models') ? { kind: 'models' } : undefined
  },
  check: checkOpenAiResponses,
  read: readResponses,
  authorise: authoriseBearer,
  verify: verifyResponses,
  overflow: () => ({
    kind: 'overflow',
    status: 400,
    message: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
    param: 'input',
  }),
  error: openAiError,
  errorEvent: (failure) => ({
    event: 'error',
    data: JSON.stringify({ type: 'error', sequence_number: 1, ...openAiError(failure) }),
  }),
  refuseInside(failure, id, created_at) {
    const { code, message } = openAiError(failure).error
    const begun = { id: `resp_${id}`, object: 'response', created_at, status: 'in_progress', error: null, output: [] }
    const body = { ...begun, status: 'failed', error: { code, message }, usage: null }
    const event = (type: string, sequence_number: number, response: object): StreamEvent => ({
      event: type,
      data: JSON.stringify({ type, sequence_number, response }),
    })
    return {
      body,
      events: [
        event('response.created', 0, begun),
        event('response.in_progress', 1, begun),
        event('response.failed', 2, body),
      ],
    }
  },
  render: renderResponses,
  count: (tokens) => ({ object: 'response.input_tokens', input_tokens: tokens }),
  models: openAiModels,
  keepAlive: 'event: keepalive\ndata: {"type":"keepalive","sequence_number":0}\n\n',
  cache: { mode: 'automatic', minimumTokens: 1024, blockTokens: 128, shortTtlSeconds: 600, longTtlSeconds: 86_400 },
  // The answer is cut at the window instead: only the input is refused.
  overloadedStatus: 503,
  namesPaths: false,
  fits: 'input',
}

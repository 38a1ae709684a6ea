import { checkGemini } from '../../../formats/gemini/rules.ts'
import { isRecord } from '../../../core/values.ts'
import type { Dialect, Failure, FailureKind } from '../types.ts'
import { renderGemini } from './gemini-render.ts'
import { readGemini, requestOf } from './gemini-segments.ts'
import { verifyGemini } from './gemini-verify.ts'

const STATUSES: Record<FailureKind, string> = {
  invalid: 'INVALID_ARGUMENT',
  overflow: 'INVALID_ARGUMENT',
  'too-large': 'INVALID_ARGUMENT',
  throttle: 'RESOURCE_EXHAUSTED',
  server: 'INTERNAL',
  overloaded: 'UNAVAILABLE',
  auth: 'UNAUTHENTICATED',
  'not-found': 'NOT_FOUND',
}

const ROUTE = /\/models\/([^/:]+):(generateContent|streamGenerateContent|countTokens)$/

/** generateContent: the model and the streaming stand in the path. */
export const gemini: Dialect = {
  wire: 'gemini',
  route(method, path) {
    const [route = ''] = path.split('?')
    const [, model = '', verb] = ROUTE.exec(route) ?? []
    if (method === 'GET' && route.endsWith('/models')) return { kind: 'models' }
    if (method !== 'POST' || verb === undefined) return undefined
    return { kind: verb === 'countTokens' ? 'count' : 'generate', model, stream: verb === 'streamGenerateContent' }
  },
  check: (body, options) => checkGemini(isRecord(body) ? requestOf(body) : body, options),
  read: readGemini,
  authorise({ headers, path }, apiKey) {
    const query = new URLSearchParams(path.split('?')[1] ?? '')
    const given = headers['x-goog-api-key'] ?? query.get('key') ?? headers.authorization?.replace(/^Bearer /i, '')
    if (given === undefined)
      return { kind: 'auth', status: 401, message: 'Request is missing required authentication credential.' }
    if (apiKey === undefined || given === apiKey) return undefined
    return { kind: 'auth', status: 400, message: 'API key not valid. Please pass a valid API key.' }
  },
  verify: verifyGemini,
  overflow({ input, window }) {
    const message = `The input token count (${input}) exceeds the maximum number of tokens allowed (${window}).`
    return { kind: 'overflow', status: 400, message }
  },
  error: errorBody,
  errorEvent: (failure) => ({ data: JSON.stringify(errorBody(failure)) }),
  refuseInside(failure) {
    const body = errorBody(failure)
    return { body, events: [{ data: JSON.stringify(body) }] }
  },
  render: renderGemini,
  count: (tokens) => ({ totalTokens: tokens, promptTokensDetails: [{ modality: 'TEXT', tokenCount: tokens }] }),
  models: (ids, window) => ({
    models: ids.map((id) => ({
      name: `models/${id}`,
      displayName: id,
      inputTokenLimit: window,
      outputTokenLimit: 65_536,
      supportedGenerationMethods: ['generateContent', 'countTokens'],
    })),
  }),
  keepAlive: ': keep-alive\n\n',
  cache: { mode: 'automatic', minimumTokens: 2048, blockTokens: 1, shortTtlSeconds: 300, longTtlSeconds: 3600 },
  overloadedStatus: 503,
  namesPaths: false,
  fits: 'input',
}

function errorBody(failure: Failure): unknown {
  return { error: { code: failure.status, message: failure.message, status: STATUSES[failure.kind] } }
}

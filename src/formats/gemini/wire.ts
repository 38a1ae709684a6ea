import { recordOf } from '../../core/values.ts'
import type { WireTraits } from '../../core/wire-traits.ts'
import { serverSentEvents } from '../framing.ts'
import { bodyCodec } from '../kit/body.ts'
import { decodedPart, type Endpoint, PLAIN_TRAITS, type Routes, type Wire } from '../wire/wire.ts'
import { answers, readResponse, steps, stream } from './answers.ts'
import { body, FORMAT } from './decode.ts'
import { declare, encode, keeper, write } from './encode.ts'
import { checkGemini } from './rules.ts'

const traits: WireTraits = { ...PLAIN_TRAITS, promptFraming: 'contents', windowHoldsAnswer: false }

const endpoint: Endpoint = {
  name: 'gemini',
  provider: 'gcp.gemini',
  label: 'Gemini',
  url: 'https://generativelanguage.googleapis.com',
  sdkPath: '',
  isLocal: false,
  keys: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
  bases: ['GOOGLE_GEMINI_BASE_URL', 'GEMINI_BASE_URL'],
  headers: (key): Record<string, string> => (key === undefined ? {} : { 'x-goog-api-key': key }),
  credentials: ['x-goog-api-key'],
  credentialQuery: 'key',
  modelVariable: 'GEMINI_MODEL',
  model: 'gemini-2.5-pro',
  owns: (model) => /gemini/i.test(model),
  ownsPath: (path) => path.startsWith('/v1beta/'),
}

const METHOD = /\/models\/([^/:]+):(generateContent|streamGenerateContent|countTokens)$/

const routes: Routes = {
  match(pathname, query) {
    const [, model, method] = METHOD.exec(pathname) ?? []
    if (model === undefined) return undefined
    return {
      action: method === 'countTokens' ? 'count' : 'generate',
      model: decodedPart(model),
      ...(method === 'streamGenerateContent' && {
        stream: new URLSearchParams(query).get('alt') === 'sse' ? 'events' : 'json-array',
      }),
    }
  },
  path: (model, stream) =>
    `/v1beta/models/${encodeURIComponent(model)}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  counted: (totalTokens) => ({ totalTokens }),
}

export const wire: Wire = {
  id: FORMAT,
  codec: {
    ...bodyCodec(body, encode),
    traits,
    check: checkGemini,
    readResponse,
    stream,
  },
  framing: serverSentEvents,
  answers,
  steps,
  declare,
  write,
  keeper,
  routes,
  endpoint,
  servers: [],
  resembles: (body) =>
    body['contents'] !== undefined || recordOf(body['request'])?.['contents'] !== undefined ? 2 : 0,
}

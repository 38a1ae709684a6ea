import type { WireTraits } from '../../core/wire-traits.ts'
import { serverSentEvents } from '../framing.ts'
import { bodyCodec } from '../kit/body.ts'
import { endpoint } from '../openai-chat/wire.ts'
import type { Routes, Wire } from '../wire/wire.ts'
import { answers, readResponse, steps, stream } from './answers.ts'
import { body, FORMAT } from './decode.ts'
import { declare, encode, providerHistory, write } from './encode.ts'
import { checkOpenAiResponses } from './rules.ts'

/** Other servers of this wire answer 400 to an unknown member. */
const COMPACTING = /^https:\/\/(?:[\w-]+\.)*(?:openai\.com|openai\.azure\.com|services\.ai\.azure\.com)(?:[:/]|$)/i

const traits: WireTraits = {
  promptFraming: 'items',
  windowHoldsAnswer: true,
  // A call without the reasoning item that led to it is refused.
  staleThinkingHeaders: {},
  keepsAnswers: true,
  compactsHistory: (endpoint) => endpoint === undefined || COMPACTING.test(endpoint),
}

const routes: Routes = {
  match(pathname) {
    if (pathname.endsWith('/responses/input_tokens')) return { action: 'count' }
    return pathname.endsWith('/responses') ? { action: 'generate' } : undefined
  },
  path: () => '/v1/responses',
  counted: (input_tokens) => ({ object: 'response.input_tokens', input_tokens }),
}

const OWN_KEYS = ['input', 'previous_response_id', 'conversation', 'prompt']

export const wire: Wire = {
  id: FORMAT,
  codec: {
    ...bodyCodec(body, encode),
    traits,
    providerHistory,
    check: checkOpenAiResponses,
    readResponse,
    stream,
  },
  framing: serverSentEvents,
  answers,
  steps,
  declare,
  write,
  routes,
  endpoint,
  servers: [],
  resembles: (body) => (OWN_KEYS.some((key) => body[key] !== undefined) ? 1 : 0),
}

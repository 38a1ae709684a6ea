import type { WireTraits } from '../../core/wire-traits.ts'
import { serverSentEvents } from '../framing.ts'
import { bodyCodec } from '../kit/body.ts'
import { bearer, decodedPart, type Endpoint, PLAIN_TRAITS, type Routes, type Wire } from '../wire/wire.ts'
import { answers, readResponse, steps, stream } from './answers.ts'
import { body, FORMAT } from './decode.ts'
import { declare, encode, write } from './encode.ts'
import { checkOpenAiChat } from './rules.ts'

const traits: WireTraits = { ...PLAIN_TRAITS, promptFraming: 'messages', windowHoldsAnswer: true }

export const endpoint: Endpoint = {
  name: 'openai',
  label: 'OpenAI',
  url: 'https://api.openai.com',
  sdkPath: '/v1',
  isLocal: false,
  keys: ['OPENAI_API_KEY'],
  bases: ['OPENAI_BASE_URL', 'OPENAI_API_BASE'],
  headers: bearer,
  // Azure has its own header.
  credentials: ['authorization', 'api-key'],
  modelVariable: 'OPENAI_MODEL',
  model: 'gpt-5',
  owns: (model) => /^(?:gpt|o\d|chatgpt)/i.test(model),
  ownsPath: (path) => path.startsWith('/v1/'),
}

/** Any server at an address that the user sets. */
const compatible: Endpoint = {
  name: 'compatible',
  label: 'a compatible server',
  url: 'http://127.0.0.1:8080',
  sdkPath: '/v1',
  isLocal: true,
  keys: ['OPENAI_API_KEY'],
  bases: ['OPENAI_BASE_URL'],
  headers: bearer,
  credentials: [],
  modelVariable: 'OPENAI_MODEL',
}

/** Ollama's imitation of this wire. */
const ollama: Endpoint = {
  name: 'ollama',
  label: 'Ollama',
  url: 'http://127.0.0.1:11434',
  sdkPath: '/v1',
  isLocal: true,
  keys: [],
  bases: ['OLLAMA_HOST'],
  // Ollama ignores the key; gateways before it may require one.
  headers: () => bearer('ollama'),
  credentials: [],
  modelVariable: 'OLLAMA_MODEL',
  // Ollama silently truncates prompts, and its default window is 4,096.
  window: (env) => Number(env['OLLAMA_CONTEXT_LENGTH'] || 4_096),
  base(env, baseUrl) {
    const host = env['OLLAMA_HOST'] || '127.0.0.1:11434'
    const url = baseUrl ?? (/^https?:/.test(host) ? host : `http://${host}`)
    return `${url.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1`
  },
}

const servers: readonly Endpoint[] = [ollama, compatible]

const AZURE_DEPLOYMENT = /\/deployments\/([^/]+)\/chat\/completions$/

const routes: Routes = {
  match(pathname) {
    if (!pathname.endsWith('/chat/completions')) return undefined
    const deployment = AZURE_DEPLOYMENT.exec(pathname)?.[1]
    return { action: 'generate', model: deployment !== undefined ? decodedPart(deployment) : undefined }
  },
  path: () => '/v1/chat/completions',
  // The vendor has no route for counts; this is the answer of its other wire.
  counted: (input_tokens) => ({ input_tokens }),
}

export const wire: Wire = {
  id: FORMAT,
  codec: {
    ...bodyCodec(body, encode),
    traits,
    check: checkOpenAiChat,
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
  servers,
  // Most servers imitate this wire, so any body with messages may belong to it.
  resembles: (body) => (body['messages'] === undefined ? 0 : 1),
}

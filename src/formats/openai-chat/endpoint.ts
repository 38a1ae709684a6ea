import { bearer, type Endpoint } from '../wire/endpoint.ts'

export const endpoint: Endpoint = {
  name: 'openai',
  label: 'OpenAI',
  url: 'https://api.openai.com',
  sdkPath: '/v1',
  isLocal: false,
  keys: ['OPENAI_API_KEY'],
  bases: ['OPENAI_BASE_URL', 'OPENAI_API_BASE'],
  headers: bearer,
  // Azure has a header of its own.
  credentials: ['authorization', 'api-key'],
  modelVariable: 'OPENAI_MODEL',
  model: 'gpt-5',
  owns: (model) => /^(?:gpt|o\d|chatgpt)/i.test(model),
  ownsPath: (path) => path.startsWith('/v1/'),
}

/** Whatever stands at an address that the user names. */
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
  owns: () => false,
  ownsPath: () => false,
}

/** Ollama's own imitation of this wire. */
const ollama: Endpoint = {
  name: 'ollama',
  label: 'Ollama',
  url: 'http://127.0.0.1:11434',
  sdkPath: '/v1',
  isLocal: true,
  keys: [],
  bases: ['OLLAMA_HOST'],
  // It ignores the key; gateways in front of it want to see one.
  headers: () => bearer('ollama'),
  credentials: [],
  modelVariable: 'OLLAMA_MODEL',
  owns: () => false,
  ownsPath: () => false,
  // It cuts what does not fit without a word, and 4,096 is what it gives a model when nobody says otherwise.
  window: (env) => Number(env['OLLAMA_CONTEXT_LENGTH'] || 4_096),
  base(env, baseUrl) {
    const host = env['OLLAMA_HOST'] || '127.0.0.1:11434'
    const url = baseUrl ?? (/^https?:/.test(host) ? host : `http://${host}`)
    return `${url.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1`
  },
}

export const servers: readonly Endpoint[] = [ollama, compatible]

import type { Codec } from '../../core/codec.ts'
import { listOf, type Fields, recordOf, stringOf } from '../../core/values.ts'
import type { WireTraits } from '../../core/wire-traits.ts'
import { serverSentEvents } from '../framing.ts'
import { bodyCodec } from '../kit/body.ts'
import { bearer, decodedPart, type Endpoint, PLAIN_TRAITS, type Routes, type Wire } from '../wire/wire.ts'
import { answers, readResponse, steps, stream } from './answers.ts'
import { body, FORMAT } from './decode.ts'
import { declare, encode, nativeBetas, placeCacheMarks, write } from './encode.ts'
import { checkAnthropicMessages } from './rules.ts'

const traits: WireTraits = {
  ...PLAIN_TRAITS,
  promptFraming: 'messages',
  windowHoldsAnswer: true,
  staleThinkingHeaders: { 'anthropic-beta': 'thinking-binding-controls-2026-08-01' },
}

const VERSION = { 'anthropic-version': '2023-06-01' }

const endpoint: Endpoint = {
  name: 'anthropic',
  label: 'Anthropic',
  url: 'https://api.anthropic.com',
  sdkPath: '',
  isLocal: false,
  keys: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN'],
  bases: ['ANTHROPIC_BASE_URL'],
  headers: (key, variable) => ({
    ...VERSION,
    ...(variable === 'ANTHROPIC_AUTH_TOKEN' ? bearer(key) : key === undefined ? {} : { 'x-api-key': key }),
  }),
  credentials: ['x-api-key', 'authorization'],
  modelVariable: 'ANTHROPIC_MODEL',
  model: 'claude-sonnet-4-5',
  owns: (model) => /claude/i.test(model),
  ownsPath: (path, header) => path.startsWith('/v1/') && header('anthropic-version') !== undefined,
}

/** Claude on Vertex: the same wire, with the model in the path. */
const VERTEX = /\/publishers\/anthropic\/models\/([^/:]+):(rawPredict|streamRawPredict)$/

const routes: Routes = {
  match(pathname) {
    if (pathname.endsWith('/messages')) return { action: 'generate' }
    if (pathname.endsWith('/messages/count_tokens')) return { action: 'count' }
    const model = VERTEX.exec(pathname)?.[1]
    return model === undefined ? undefined : { action: 'generate', model: decodedPart(model) }
  },
  path: () => '/v1/messages',
  counted: (input_tokens) => ({ input_tokens }),
}

const OWN_KEYS = ['system', 'anthropic_version', 'anthropic_beta', 'stop_sequences', 'thinking', 'context_management']
const CHAT_KEYS = (
  'max_completion_tokens response_format stream_options functions function_call n stop reasoning_effort ' +
  'frequency_penalty presence_penalty logprobs seed parallel_tool_calls'
).split(' ')
const OWN_BLOCKS = new Set(['tool_use', 'tool_result', 'thinking', 'redacted_thinking', 'image', 'document'])
const CHAT_ROLES = new Set(['system', 'developer', 'tool', 'function'])

/** Chat completions have `messages` too; members that only one of the formats has decide. */
const resembles = (body: Fields): 0 | 2 => (body['messages'] !== undefined && isOurs(body) ? 2 : 0)

function isOurs(body: Fields): boolean {
  const messages = listOf(body['messages']).map((message) => recordOf(message) ?? {})
  const tools = listOf(body['tools']).map((tool) => recordOf(tool) ?? {})
  if (tools.some((tool) => tool['input_schema'] !== undefined)) return true
  if (tools.some((tool) => tool['function'] !== undefined)) return false
  // One block or role that only one of the formats has is enough.
  for (const message of messages) {
    if (message['tool_calls'] !== undefined || CHAT_ROLES.has(stringOf(message['role']) ?? '')) return false
    for (const value of listOf(message['content'])) {
      const type = stringOf(recordOf(value)?.['type']) ?? ''
      if (OWN_BLOCKS.has(type)) return true
      if (type === 'image_url' || type === 'input_audio' || type === 'file') return false
    }
  }
  if (OWN_KEYS.some((key) => body[key] !== undefined)) return true
  if (CHAT_KEYS.some((key) => body[key] !== undefined)) return false
  // Otherwise by the model's name: the vendor's API has bare names, gateways of the chat format add a vendor prefix.
  return /^(?:anthropic\.)?claude/.test(stringOf(body['model']) ?? '') && body['max_tokens'] !== undefined
}

export const anthropicMessages: Codec = {
  ...bodyCodec(body, encode),
  traits,
  check: checkAnthropicMessages,
  placeCacheMarks,
  nativeHeaders(body): Readonly<Record<string, string>> {
    const betas = nativeBetas(body)
    return betas.length === 0 ? {} : { 'anthropic-beta': betas.join(',') }
  },
  readResponse,
  stream,
}

export const wire: Wire = {
  id: FORMAT,
  codec: anthropicMessages,
  framing: serverSentEvents,
  answers,
  steps,
  declare,
  write,
  routes,
  endpoint,
  servers: [],
  resembles,
}

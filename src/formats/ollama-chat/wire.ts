import { type Fields, isRecord, recordsIn } from '../../core/values.ts'
import type { WireTraits } from '../../core/wire-traits.ts'
import { jsonLines } from '../framing.ts'
import { bodyCodec } from '../kit/body.ts'
import { declare } from '../openai-chat/encode.ts'
import { bearer, type Endpoint, PLAIN_TRAITS, type Routes, type Wire } from '../wire/wire.ts'
import { answers, readResponse, steps, stream } from './answers.ts'
import { body, FORMAT } from './decode.ts'
import { encode, write } from './encode.ts'
import { checkOllamaChat } from './rules.ts'

const traits: WireTraits = { ...PLAIN_TRAITS, promptFraming: 'messages', windowHoldsAnswer: true }

const endpoint: Endpoint = {
  name: 'ollama',
  label: 'Ollama',
  url: 'http://127.0.0.1:11434',
  sdkPath: '',
  isLocal: true,
  keys: [],
  bases: ['OLLAMA_HOST'],
  // Only the vendor's cloud, and gateways before a server, require a key.
  headers: bearer,
  credentials: ['authorization'],
  modelVariable: 'OLLAMA_MODEL',
  ownsPath: (path) => path.startsWith('/api/'),
}

const routes: Routes = {
  match: (pathname) => (pathname.endsWith('/api/chat') ? { action: 'generate' } : undefined),
  path: () => '/api/chat',
  // The server has no route for counts; this is the name of the prompt's count in its answers.
  counted: (prompt_eval_count) => ({ prompt_eval_count }),
}

export const wire: Wire = {
  id: FORMAT,
  codec: {
    ...bodyCodec(body, encode),
    traits,
    check: checkOllamaChat,
    readResponse,
    stream,
  },
  framing: jsonLines,
  answers,
  steps,
  declare,
  write,
  routes,
  endpoint,
  servers: [],
  resembles: (body) => (body['messages'] !== undefined && isOurs(body) ? 2 : 0),
}

/** Members that a body of the similar chat wire never has. */
const isOurs = (body: Fields): boolean =>
  isRecord(body['options']) ||
  ['format', 'keep_alive', 'template', 'think'].some((key) => body[key] !== undefined) ||
  recordsIn(body['messages']).some((message) => Array.isArray(message['images']) || message['tool_name'] !== undefined)

import { recordsIn, isRecord, type Fields } from '../../core/values.ts'
import type { Wire } from '../wire/wire.ts'
import { answers } from './answer.ts'
import { chat } from './chat.ts'
import { declare } from './declare.ts'
import { endpoint } from './endpoint.ts'
import { jsonLines } from './framing.ts'
import { ollamaChat as codec } from './index.ts'
import { routes } from './routes.ts'
import { FORMAT } from './source.ts'
import { steps } from './steps.ts'
import { usage } from './usage.ts'

export const wire: Wire = {
  id: FORMAT,
  codec,
  framing: jsonLines,
  answers,
  steps,
  declare,
  chat,
  routes,
  usage,
  endpoint,
  servers: [],
  resembles: (body) => (body['messages'] !== undefined && isOurs(body) ? 2 : 0),
}

/** What a body of the chat wire that it resembles never has. */
const isOurs = (body: Fields): boolean =>
  isRecord(body['options']) ||
  ['format', 'keep_alive', 'template', 'think'].some((key) => body[key] !== undefined) ||
  recordsIn(body['messages']).some((message) => Array.isArray(message['images']) || message['tool_name'] !== undefined)

import { serverSentEvents } from '../framing/server-sent.ts'
import type { Wire } from '../wire/wire.ts'
import { answers } from './answer.ts'
import { chat } from './chat.ts'
import { declare } from './declare.ts'
import { endpoint, servers } from './endpoint.ts'
import { openaiChat as codec } from './index.ts'
import { routes } from './routes.ts'
import { FORMAT } from './source.ts'
import { steps } from './steps.ts'
import { usage } from './usage.ts'

export const wire: Wire = {
  id: FORMAT,
  codec,
  framing: serverSentEvents,
  answers,
  steps,
  declare,
  chat,
  routes,
  usage,
  endpoint,
  servers,
  // Most servers imitate this wire, so whatever has messages may be it.
  resembles: (body) => (body['messages'] === undefined ? 0 : 1),
}

import { resembles } from './resembles.ts'
import { serverSentEvents } from '../framing/server-sent.ts'
import type { Wire } from '../wire/wire.ts'
import { answers } from './answer.ts'
import { chat } from './chat.ts'
import { declare } from './declare.ts'
import { endpoint } from './endpoint.ts'
import { anthropicMessages as codec } from './index.ts'
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
  servers: [],
  resembles,
}

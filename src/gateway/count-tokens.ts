import { PlimsollError } from '../core/errors.ts'
import { modelName } from '../core/model-name.ts'
import type { Wire } from '../formats/registry.ts'
import type { Answer } from './answer.ts'
import { isEncoded } from './http/encoding.ts'
import { relayOf } from './exchange.ts'
import type { OpenedRequest } from './open.ts'
import type { Reply } from './types.ts'
import { pathAt, withModel } from './upstream/outbound.ts'
import { ownUpstream } from './upstream/upstreams.ts'

/** Statuses by which a server says that it has no such route. */
const NO_SUCH_ROUTE = new Set([404, 405, 501])

/**
 * How many tokens a request would have if it were sent through here: what stands for it is applied and the provider counts the
 * result; where the provider cannot count, our meter does. A question decides nothing and leaves no trace.
 */
export async function answerCount(request: OpenedRequest): Promise<Reply> {
  const { incoming, route, wire, text, conversation, links, mode, settings, offer: tools } = request
  const [upstream] = incoming.upstreams
  if (upstream === undefined) throw new PlimsollError('not-found', 'No upstream is configured for this route.')
  const model = modelName(upstream.model ?? route.model ?? conversation.settings.model ?? 'unknown')
  const target = { model, endpoint: upstream.endpoint, window: upstream.window ?? settings.window }
  const { codec } = wire
  const view = await request.session.standingRead({ codec, text, conversation, links, tools, targets: [target] })
  const tokens = Math.ceil(view.load.count.tokens)
  if (upstream.wire !== undefined && upstream.wire !== route.wire) return counted(wire, tokens)
  const shown = mode === 'observe' ? text : view.text
  const untouched = shown === text && upstream.model === undefined
  const given = await request.transport({
    upstream: ownUpstream([upstream], route.wire),
    path: pathAt(request, upstream),
    body: untouched
      ? incoming.body
      : Buffer.from(upstream.model === undefined ? shown : withModel(shown, upstream.model)),
    headers: !untouched && isEncoded(incoming.header('content-encoding')) ? { 'content-encoding': undefined } : {},
  })
  if (NO_SUCH_ROUTE.has(given.status)) {
    given.body.discard()
    return counted(wire, tokens)
  }
  return relayOf(given, { 'x-plimsoll-counted': 'upstream' })
}

const counted = ({ routes }: Wire, tokens: number): Answer => ({
  status: 200,
  headers: { 'content-type': 'application/json', 'x-plimsoll-counted': 'meter' },
  body: JSON.stringify(routes.counted(tokens)),
})

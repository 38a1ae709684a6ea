import type { ToolOffer } from '../../engine/readers/offered-tools.ts'
import { PlimsollError } from '../../core/errors.ts'
import type { Target } from '../../core/target.ts'
import { modelName } from '../../core/model-name.ts'
import { wireOf } from '../../formats/registry.ts'
import type { Answer } from './answer.ts'
import { isEncoded } from '../http/encoding.ts'
import type { Place, Reply, Upstream, UpstreamAnswer } from '../exchange-types.ts'
import type { GatewayDeps } from '../gateway.ts'
import type { OpenedRequest } from './open.ts'
import { openHidden } from '../hidden/index.ts'
import { withPathModel } from '../../formats/routes.ts'
import { ownPlace } from '../upstream/upstreams.ts'
import { withModel } from './with-model.ts'

/** Statuses by which a server says that it has no such route. */
const NO_SUCH_ROUTE = new Set([404, 405, 501])

/**
 * How many tokens a request would have if it were sent through here: what stands for it is applied and the provider counts the
 * result; where the provider cannot count, our meter does. A question decides nothing and leaves no trace.
 */
export async function count<B>(deps: GatewayDeps, opened: OpenedRequest, upstream: Upstream<B>): Promise<Reply<B>> {
  const { request, route, codec, text, conversation, owner, mode, settings, policy } = opened
  const [place] = request.places
  if (place === undefined) throw new PlimsollError('not-found', 'No upstream is configured for this route.')
  const model = modelName(place.model ?? route.model ?? conversation.settings.model ?? 'unknown')
  const window = place.window ?? settings.window
  const target: Target = { model, endpoint: place.endpoint, ...(window !== undefined && { window }) }
  const shown = await withHiddenSteps(deps, opened)
  const session = deps.glance({ tenant: owner.tenant, id: owner.session, agent: owner.agent }, policy)
  const view = await session.standing({ format: codec.format, ...shown, targets: [target] })
  const tokens = Math.ceil(view.load.count.tokens)
  if (place.wire !== undefined && place.wire !== route.wire)
    return { kind: 'answer', answer: counted(codec.format, tokens) }
  const given = await send(upstream, opened, place, mode === 'observe' ? text : view.text)
  if (NO_SUCH_ROUTE.has(given.status)) {
    given.discard()
    return { kind: 'answer', answer: counted(codec.format, tokens) }
  }
  return { kind: 'relay', from: given, headers: { 'x-plimsoll-counted': 'upstream' } }
}

/** The request as our own tools have changed it before, where this session is known to have them. */
async function withHiddenSteps(
  deps: GatewayDeps,
  { codec, conversation, text, owner, mode, settings }: OpenedRequest,
): Promise<{ body: string; conversation: OpenedRequest['conversation']; tools?: ToolOffer }> {
  const own = { body: text, conversation }
  if (settings.tools === false || mode === 'observe') return own
  const links = deps.chain(conversation.items)
  const session = deps.glance({ tenant: owner.tenant, id: owner.session, agent: owner.agent })
  const scope = () => session.scope({ items: conversation.items, links })
  const hidden = await openHidden(deps.hidden, { owner, scope, codec, conversation, links })
  return hidden === undefined ? own : { ...own, conversation: hidden.conversation, tools: hidden.offer }
}

function send<B>(
  upstream: Upstream<B>,
  { request, route, text }: OpenedRequest,
  place: Place,
  view: string,
): Promise<UpstreamAnswer<B>> {
  const { path, body, header } = request
  const untouched = view === text && place.model === undefined
  const outgoing = place.model === undefined ? view : withModel(view, place.model)
  return upstream.send({
    place: ownPlace([place], route.wire),
    path: place.model === undefined ? path : withPathModel(path, route, place.model),
    body: untouched ? body : Buffer.from(outgoing),
    headers: { ...(!untouched && isEncoded(header('content-encoding')) && { 'content-encoding': undefined }) },
  })
}

const counted = (wire: string, tokens: number): Answer => ({
  status: 200,
  headers: { 'content-type': 'application/json', 'x-plimsoll-counted': 'meter' },
  body: JSON.stringify(wireOf(wire).routes.counted(tokens)),
})

import { isPlimsollError, PlimsollError } from '../core/errors.ts'
import { modelName } from '../core/model-name.ts'
import { errorAnswer } from './answer.ts'
import type { IncomingRequest, Reply, Transport, Upstream } from './types.ts'
import { isEncoded } from './http/encoding.ts'
import { POLICY_HEADER } from './http/headers.ts'
import type { HeaderReader } from './identity.ts'
import { exchange, relayOf } from './exchange.ts'
import {
  clientOf,
  maxBodyBytesOf,
  open,
  linksOf,
  type GatewayDeps,
  type GatewayParts,
  type OpenedRequest,
} from './open.ts'
import { routeOf, type Route } from '../formats/endpoints.ts'
import type { LearnedLimit } from '../core/target.ts'
import type { Wire } from '../formats/registry.ts'
import { BoundedMap } from '../util/bounded-map.ts'
import { withHiddenSteps } from './hidden/session.ts'
import { pathAt, withModel } from './attempt.ts'
import { plainAnswer } from './read-answer.ts'

export interface Gateway {
  /** The route of a managed request; all other requests pass through unread. */
  routeOf(method: string, path: string): Route | undefined
  handle(request: IncomingRequest, transport: Transport): Promise<Reply>
  /** The tenant of a request with these credentials. */
  tenantOf(header: HeaderReader, path: string): Promise<string>
  readonly maxBodyBytes: number
}

/** The most conversations with guessed limits. */
const MOST_KEPT = 1_000

/** The one handler behind the in-process `fetch` and the proxy: same request in, same bytes out. */
export function createGateway(parts: GatewayParts): Gateway {
  const deps: GatewayDeps = { ...parts, keptWithin: new BoundedMap<string, LearnedLimit>(MOST_KEPT) }
  return {
    get maxBodyBytes() {
      return maxBodyBytesOf(deps.settings())
    },
    routeOf,
    tenantOf: (header, path) => clientOf(deps, { header, path }),
    handle: (request, transport) => handle(deps, request, transport),
  }
}

async function handle(deps: GatewayDeps, incoming: IncomingRequest, transport: Transport): Promise<Reply> {
  const route = routeOf(incoming.method, incoming.path)
  if (route === undefined || incoming.header(POLICY_HEADER) === 'off') return unread(incoming, transport)
  let wasSent = false
  const watched: Transport = async (outbound) => {
    wasSent ||= outbound.aside !== true
    return plainAnswer(await transport(outbound))
  }
  try {
    const opened = await open(deps, incoming, route, watched)
    const { visit } = opened
    try {
      const request = await withHiddenSteps(deps.hidden, opened, (one) => linksOf(deps, one))
      const reply = route.action === 'count' ? await answerCount(request) : await exchange(deps, request)
      if (reply.status >= 400) visit?.failed()
      return reply
    } catch (error) {
      // The conversation is left again, whatever the outcome of the request.
      visit?.failed()
      throw error
    }
  } catch (error) {
    // An invalid request of this wire is forwarded, so that the client gets the provider's own error.
    if (isPlimsollError(error, 'bad-input') && !wasSent) return unread(incoming, transport, BYPASSED)
    if (!wasSent && isOurTrouble(error)) return bypass(deps, incoming, transport, error)
    if (isPlimsollError(error)) return errorAnswer(route.speaks, error)
    throw error
  }
}

/** Added to the answer of every model call that could not be managed. */
const BYPASSED = { 'x-plimsoll-verdict': 'bypassed' }

/** Forwards the original bytes and does not read the answer. */
async function unread(
  { method, path, body, upstreams }: IncomingRequest,
  transport: Transport,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> {
  const upstream = ownUpstream(upstreams, routeOf(method, path)?.wire)
  return relayOf(await transport({ upstream, path, body, headers: {} }), headers)
}

/** Errors that are not about the request: an unavailable store, a defect of ours. */
const isOurTrouble = (error: unknown): boolean =>
  !isPlimsollError(error) ||
  // Errors of the store, such as a wrong key or a newer schema, are not the client's business.
  error.fields['store'] !== undefined ||
  ['store-unavailable', 'corrupt', 'conflict', 'invalid-request', 'closed'].includes(error.code)

/** An agent must not stop because we cannot work: its own bytes are forwarded, and an event reports it. */
function bypass(
  { emit, clock }: GatewayDeps,
  incoming: IncomingRequest,
  transport: Transport,
  error: unknown,
): Promise<Reply> {
  const cause = (error as Error).message
  emit({ type: 'degraded', what: 'gateway', cause, at: clock.now(), tenant: '', session: '' })
  return unread(incoming, transport, BYPASSED)
}

/** Statuses of servers without this route. */
const NO_SUCH_ROUTE = new Set([404, 405, 501])

/**
 * Counts the tokens that a request would have if it were sent through here: its standing edits are applied, and the provider counts the
 * result, or our meter if the provider cannot. Nothing is decided or recorded.
 */
async function answerCount(request: OpenedRequest): Promise<Reply> {
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

const counted = ({ routes }: Wire, tokens: number): Reply => ({
  status: 200,
  headers: { 'content-type': 'application/json', 'x-plimsoll-counted': 'meter' },
  body: JSON.stringify(routes.counted(tokens)),
})

/**
 * The first upstream of the client's wire.
 * @throws PlimsollError `unsupported` if all of them use another wire
 */
export function ownUpstream<P extends Upstream>(upstreams: readonly P[], wire: string | undefined): P {
  const own = upstreams.find((upstream) => upstream.wire === undefined || upstream.wire === wire)
  if (own !== undefined) return own
  throw new PlimsollError(
    'unsupported',
    'Every upstream of this route uses another API format; only model calls can be converted.',
  )
}

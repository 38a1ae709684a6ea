import { isPlimsollError } from '../core/errors.ts'
import type { EventBody, EventSink } from '../core/events.ts'
import type { LearnedLimits } from '../engine/learning/learned-limits.ts'
import type { HistoryScope } from '../engine/readers/scope.ts'
import { weightOf } from '../engine/memo/recent-bodies.ts'
import type { Session, SessionOptions } from '../engine/session/session.ts'
import type { Clock } from '../ports/clock.ts'
import { errorAnswer } from './request/answer.ts'
import { count } from './request/count-tokens.ts'
import { conversationLimits, type ConversationLimits } from './request/conversation-limits.ts'
import type { IncomingRequest, Reply, Upstream } from './exchange-types.ts'
import { POLICY_HEADER } from './headers.ts'
import type { HeaderReader } from './identity.ts'
import { openHidden, type HiddenDeps } from './hidden/index.ts'
import type { Ledger } from './operate/ledger.ts'
import { exchange } from './request/exchange.ts'
import { chainOf, type HeldHistories } from './request/held-histories.ts'
import { clientOf, maxBodyBytesOf, open, type OpenDeps, type OpenedRequest } from './request/open.ts'
import { routeOf, type Route } from '../formats/endpoints.ts'
import { ownPlace } from './upstream/upstreams.ts'

export interface GatewayDeps extends OpenDeps {
  /** Kept open, as long as `bytes` of it and of the others have room. */
  readonly session: (options: SessionOptions, policy: string | undefined, bytes: number) => Session
  /** The same without keeping it: a count may be about anything. */
  readonly glance: (options: SessionOptions, policy?: string) => Session
  readonly learned: LearnedLimits
  readonly held: HeldHistories
  readonly ledger: Ledger
  readonly clock: Clock
  readonly emit: EventSink
  /** Tools of ours that requests get. */
  readonly hidden: HiddenDeps
  /** Other processes serve the same sessions: an answer ends when it is recorded, since the next request may come to them. */
  readonly isShared: boolean
}

export interface Gateway {
  /** The route of a request that is looked at; everything else passes through without being read. */
  routeOf(method: string, path: string): Route | undefined
  handle<B>(request: IncomingRequest, upstream: Upstream<B>): Promise<Reply<B>>
  /** Whose content a request with these credentials is. */
  tenantOf(header: HeaderReader, path: string): Promise<string>
  readonly maxBodyBytes: number
}

/** The one handler behind the in-process `fetch` and the proxy: same request in, same bytes out. */
export function createGateway(deps: GatewayDeps): Gateway {
  const held = conversationLimits()
  return {
    get maxBodyBytes() {
      return maxBodyBytesOf(deps.settings())
    },
    routeOf(method, path) {
      const route = routeOf(method, path)
      return route === undefined || !deps.codecs.has(route.wire) ? undefined : route
    },
    tenantOf: (header, path) => clientOf(deps, { header, path }),
    handle: (request, upstream) => handle(deps, held, request, upstream),
  }
}

async function handle<B>(
  deps: GatewayDeps,
  held: ConversationLimits,
  request: IncomingRequest,
  upstream: Upstream<B>,
): Promise<Reply<B>> {
  const route = routeOf(request.method, request.path)
  if (route === undefined || request.header(POLICY_HEADER) === 'off') return unread(request, upstream)
  let wasSent = false
  const watched: typeof upstream = {
    send(outbound) {
      wasSent ||= outbound.aside !== true
      return upstream.send(outbound)
    },
  }
  try {
    const opened = await open(deps, request, route)
    return await (route.action === 'count' ? count(deps, opened, watched) : visited(deps, held, opened, watched))
  } catch (error) {
    // What is no request of this wire is the provider's to refuse, in its own words.
    if (isPlimsollError(error, 'bad-input') && !wasSent) return unread(request, upstream, BYPASSED)
    if (!wasSent && isOurTrouble(error)) return bypass(deps, request, upstream, error)
    if (isPlimsollError(error)) return { kind: 'answer', answer: errorAnswer(route.wire, error) }
    throw error
  }
}

/** Said whenever a model call passes that we could not manage. */
const BYPASSED = { 'x-plimsoll-verdict': 'bypassed' }

/** Sends the bytes on as they came and does not look at the answer. */
async function unread<B>(
  request: IncomingRequest,
  upstream: Upstream<B>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply<B>> {
  const { method, path, body } = request
  const place = ownPlace(request.places, routeOf(method, path)?.wire)
  return { kind: 'relay', from: await upstream.send({ place, path, body, headers: {} }), headers }
}

/** Errors that say nothing about the request: a store that is away, a defect of ours. */
const isOurTrouble = (error: unknown): boolean =>
  !isPlimsollError(error) ||
  // Wrong key, newer records or schema: whatever a store says about itself is no business of the client's.
  error.fields['store'] !== undefined ||
  ['store-unavailable', 'corrupt', 'conflict', 'invalid-request', 'closed'].includes(error.code)

/** An agent must not stand still because we cannot work: its own bytes go on, and the event says so. */
function bypass<B>(
  deps: GatewayDeps,
  request: IncomingRequest,
  upstream: Upstream<B>,
  error: unknown,
): Promise<Reply<B>> {
  deps.emit({
    type: 'degraded',
    what: 'gateway',
    cause: (error as Error).message,
    at: deps.clock.now(),
    tenant: '',
    session: '',
  })
  return unread(request, upstream, BYPASSED)
}

/** A conversation that was entered is left again, whatever becomes of the request. */
async function visited<B>(
  deps: GatewayDeps,
  held: ConversationLimits,
  opened: OpenedRequest,
  upstream: Upstream<B>,
): Promise<Reply<B>> {
  const { visit } = opened
  try {
    const reply = await manage(deps, held, opened, upstream)
    if (reply.kind === 'answer' || reply.from.status >= 400) visit?.failed()
    return reply
  } catch (error) {
    visit?.failed()
    throw error
  }
}

async function manage<B>(
  deps: GatewayDeps,
  held: ConversationLimits,
  opened: OpenedRequest,
  upstream: Upstream<B>,
): Promise<Reply<B>> {
  const { request, route, codec, text, conversation, decode, mode, settings, policy, owner, key } = opened
  const { tenant, session: sessionId, agent } = owner
  const emit = (event: EventBody): void =>
    deps.emit({ ...event, tenant, session: sessionId, agent, at: deps.clock.now() })
  const wanted = { tenant, id: sessionId, agent, ...(key !== undefined && { key }) }
  const session = deps.session(wanted, policy, weightOf(text, conversation.items.length))
  const links = deps.chain(conversation.items)
  let scope: Promise<HistoryScope> | undefined
  const chain = mode === 'observe' ? undefined : chainOf(deps.held, { codec, text, conversation, owner })
  const hidden =
    mode === 'observe' || settings.tools === false || route.stream === 'json-array'
      ? undefined
      : await openHidden(deps.hidden, {
          owner,
          codec,
          conversation,
          links,
          scope: () => (scope ??= session.scope({ items: conversation.items, links })),
        })
  return await exchange({
    request,
    route,
    codec,
    codecs: deps.codecs,
    decode,
    clientText: text,
    conversation: hidden?.conversation ?? conversation,
    hidden,
    offer: hidden?.offer,
    tenant,
    sessionId,
    agent,
    session,
    mode,
    upstream,
    held,
    // Whichever process the next request comes to, it looks up there whose this answer is.
    isShared: deps.isShared,
    learned: deps.learned,
    window: settings.window,
    writeOut: chain?.writeOut,
    emit,
    now: () => deps.clock.now(),
    costUsd: () => deps.ledger.costOf(tenant, sessionId),
    async onResponse(response) {
      if (response === undefined) return opened.visit?.failed()
      const { id, items } = response
      await opened.visit?.answered(items)
      if (!codec.traits.keepsAnswers || id === undefined) return
      await deps.responses.remember(tenant, id, { session: sessionId, agent })
      await chain?.answered(id, response)
    },
  })
}

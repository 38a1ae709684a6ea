import { isAscii, isUtf8 } from 'node:buffer'
import type { Link } from '../../core/chain.ts'
import type { Codec } from '../../core/codec.ts'
import type { Conversation } from '../../core/conversation.ts'
import { isPlimsollError, PlimsollError } from '../../core/errors.ts'
import type { EventBody, EventSink } from '../../core/events.ts'
import { extended } from '../../core/extended.ts'
import type { QuotedText } from '../../core/identity.ts'
import type { Item } from '../../core/item.ts'
import { sha256Text } from '../../drivers/crypto/sha256.ts'
import type { LearnedLimits } from '../../engine/learning/learned-limits.ts'
import type { HistoryScope } from '../../engine/readers/scope/history-scope.ts'
import { weightOf, type RecentBodies } from '../../engine/memo/recent-bodies.ts'
import type { Session, SessionOptions } from '../../engine/session/session.ts'
import type { Clock } from '../../ports/clock.ts'
import { errorAnswer } from './request/answer.ts'
import { count } from './request/count-tokens.ts'
import { conversationLimits, type ConversationLimits } from './request/conversation-limits.ts'
import { decodeBody, isEncoded } from './http/encoding.ts'
import type { IncomingRequest, Reply, Upstream } from './exchange-types.ts'
import { POLICY_HEADER } from './headers.ts'
import type { Conversations, Visit } from './conversations/conversations.ts'
import { OBSERVED, speakerOf, tenantOf, type HeaderReader, type TenantRule } from './identity.ts'
import { openHidden, type HiddenDeps } from './hidden/index.ts'
import type { StepOwner } from './hidden/steps.ts'
import type { Ledger } from './operate/ledger.ts'
import { exchange } from './request/exchange.ts'
import { chainOf, type HeldHistories } from './request/held-histories.ts'
import type { ResponseSessions } from './request/response-sessions.ts'
import { routeOf, type Route } from '../../formats/routes.ts'
import type { Elsewhere, Owners } from './siblings/siblings.ts'
import { ownPlace } from './upstream/upstreams.ts'
import { yieldNow, type Pause } from '../../lib/yield-now.ts'

export interface GatewayDeps {
  readonly secret: () => Promise<Uint8Array>
  readonly codecs: ReadonlyMap<string, Codec>
  readonly bodies: RecentBodies
  readonly chain: (items: readonly Item[], quoted?: QuotedText) => readonly Link[]
  /** Kept open, as long as `bytes` of it and of the others have room. */
  readonly session: (options: SessionOptions, policy: string | undefined, bytes: number) => Session
  /** The same without keeping it: a count may be about anything. */
  readonly glance: (options: SessionOptions, policy?: string) => Session
  readonly learned: LearnedLimits
  readonly responses: ResponseSessions
  readonly held: HeldHistories
  readonly conversations: Conversations
  readonly ledger: Ledger
  readonly clock: Clock
  readonly emit: EventSink
  /** Tools of ours that requests get. */
  readonly hidden: HiddenDeps
  /** Other processes serve the same sessions: an answer ends when it is recorded, since the next request may come to them. */
  readonly isShared: boolean
  /** Where several processes serve one store, each its own conversations. */
  readonly owners: Owners | undefined
  /** Asked for each request: they may change while the gateway runs. */
  readonly settings: () => GatewaySettings
}

export interface GatewaySettings {
  /** Overrides every window. */
  readonly window?: number
  /** Requests get tools of ours. @default true */
  readonly tools?: boolean
  /** Reports what it would do and changes nothing. @default false */
  readonly observe?: boolean
  /** Largest body, unpacked. @default 64 MiB */
  readonly maxBodyBytes?: number
  /** Whose content a request is. @default 'credential' */
  readonly tenants?: TenantRule
}

export interface Gateway {
  /** The route of a request that is looked at; everything else passes through without being read. */
  routeOf(method: string, path: string): Route | undefined
  handle<B>(request: IncomingRequest, upstream: Upstream<B>): Promise<Reply<B>>
  /** The same, unless the conversation belongs to another process. */
  handleOwn<B>(request: IncomingRequest, upstream: Upstream<B>): Promise<Reply<B> | Elsewhere>
  /** Whose content a request with these credentials is. */
  tenantOf(header: HeaderReader, path: string): Promise<string>
  readonly maxBodyBytes: number
}

const DEFAULT_MAX_BODY_BYTES = 64 * 1024 * 1024

const hash = (text: string): string => sha256Text(text, 'hex').slice(0, 40)

/** The one handler behind the in-process `fetch` and the proxy: same request in, same bytes out. */
export function createGateway(deps: GatewayDeps): Gateway {
  const held = conversationLimits()
  return {
    get maxBodyBytes() {
      return deps.settings().maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES
    },
    routeOf(method, path) {
      const route = routeOf(method, path)
      return route === undefined || !deps.codecs.has(route.wire) ? undefined : route
    },
    tenantOf: (header, path) => clientOf(deps, { header, path }),
    handle: (request, upstream) => handle(deps, held, request, upstream),
    handleOwn: (request, upstream) => handle(deps, held, request, upstream, deps.owners),
  }
}

type Handled<B> = readonly [
  deps: GatewayDeps,
  held: ConversationLimits,
  request: IncomingRequest,
  upstream: Upstream<B>,
]

/** Without owners nothing is anybody else's. */
function handle<B>(...given: Handled<B>): Promise<Reply<B>>
function handle<B>(...given: [...Handled<B>, owners: Owners | undefined]): Promise<Reply<B> | Elsewhere>
async function handle<B>(
  deps: GatewayDeps,
  held: ConversationLimits,
  request: IncomingRequest,
  upstream: Upstream<B>,
  owners?: Owners,
): Promise<Reply<B> | Elsewhere> {
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
    const opened = await open(deps, request, route, owners)
    if ('kind' in opened) return opened
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

const clientOf = async (
  deps: GatewayDeps,
  { header, path, tenants }: Pick<IncomingRequest, 'header' | 'path' | 'tenants'>,
): Promise<string> => tenantOf(await deps.secret(), header, path, deps.settings().tenants ?? tenants)

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

/** A request that was read: what it says and who says it. */
export interface OpenedRequest {
  readonly request: IncomingRequest
  readonly route: Route
  readonly codec: Codec
  readonly text: string
  readonly conversation: Conversation
  readonly decode: (text: string) => Conversation
  readonly mode: 'apply' | 'observe'
  readonly settings: GatewaySettings
  /** The policy that the client asks for. */
  readonly policy: string | undefined
  readonly owner: StepOwner
  /** What its conversation is kept under together with others. */
  readonly group: string | undefined
  /** Who pays, where that is not what tells tenants apart. */
  readonly key: string | undefined
  /** The conversation of a client that sent no name for it. */
  readonly visit: Visit | undefined
}

async function open(
  deps: GatewayDeps,
  request: IncomingRequest,
  route: Route,
  owners: Owners | undefined,
): Promise<OpenedRequest | Elsewhere> {
  const settings = deps.settings()
  const { maxBodyBytes = DEFAULT_MAX_BODY_BYTES, observe = false } = settings
  const codec = deps.codecs.get(route.wire)!
  const pause = yieldNow(SLICE_MS)
  const encoding = request.header('content-encoding')
  const { body } = request
  const text = utf8(isEncoded(encoding) ? await decodeBody(body, encoding, maxBodyBytes) : body)
  const asked = request.header(POLICY_HEADER)
  const mode = asked === 'observe' || (observe && asked === undefined) ? 'observe' : 'apply'
  const client = await clientOf(deps, request)
  const tenant = mode === 'observe' ? OBSERVED + client : client
  const decode = (written: string): Conversation => deps.bodies.decode(tenant, codec, written)
  const conversation = decode(text)
  await pause()
  const { items } = conversation
  const chain = (some: readonly Item[]): readonly Link[] => deps.chain(some, (item) => codec.quoted(conversation, item))
  if (items.length > CHAIN_STEP) await chainAhead(chain, items, pause)
  const links = chain(items)
  const elsewhere = async (key: string): Promise<Elsewhere | undefined> => {
    const process = await owners?.ownerOf(tenant, key)
    return process === undefined ? undefined : { kind: 'elsewhere', process }
  }
  let visit: Visit | undefined
  const speaker = await speakerOf({
    header: request.header,
    fields: codec.fields(conversation),
    items,
    hash,
    ownerOfResponse: (id) => deps.responses.find(tenant, id),
    async conversation(scope, base) {
      const unnamed = { tenant, scope, base, items, links }
      const group = deps.conversations.groupOf(unnamed)
      const other = owners === undefined ? undefined : await elsewhere(group)
      if (other !== undefined) return other
      if (route.action === 'count') return { name: await deps.conversations.find(unnamed), group }
      visit = await deps.conversations.enter(unnamed)
      return { name: visit.name, group }
    },
  })
  if ('kind' in speaker) return speaker
  // A conversation that began in a group stays with it; others are known by their name alone.
  const other = owners === undefined ? undefined : await elsewhere(speaker.group ?? speaker.session)
  if (other !== undefined) return other
  return {
    request,
    route,
    codec,
    text,
    conversation,
    decode,
    mode,
    settings,
    policy: mode === 'apply' ? asked : undefined,
    owner: { tenant, session: speaker.session, agent: speaker.agent },
    group: speaker.group,
    key: request.tenants === undefined ? undefined : tenantOf(await deps.secret(), request.header, request.path),
    visit,
  }
}

/** Others get their turn when this long was worked on one request. */
const SLICE_MS = 20
/** Items that are hashed at once; the chain remembers how far it came. */
const CHAIN_STEP = 4_000

/** Makes the chain of a long history a part at a time, so that others get their turn. */
async function chainAhead(chain: GatewayDeps['chain'], items: readonly Item[], pause: Pause): Promise<void> {
  for (let to = CHAIN_STEP; to < items.length; to += CHAIN_STEP) {
    chain(items.slice(0, to))
    await pause()
  }
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
    deps.emit(extended(event, { tenant, session: sessionId, agent, at: deps.clock.now() }))
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
    isShared: deps.isShared || (deps.owners !== undefined && codec.traits.keepsAnswers),
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
      const { group } = opened
      await deps.responses.remember(tenant, id, { session: sessionId, agent, ...(group !== undefined && { group }) })
      await chain?.answered(id, response)
    },
  })
}

/** Most bodies are plain ASCII, and a check and a copy cost a tenth of decoding. */
function utf8(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (isAscii(buffer)) return buffer.toString('latin1')
  if (isUtf8(buffer)) return buffer.toString('utf8')
  throw new PlimsollError('bad-input', 'The body is not valid UTF-8.')
}

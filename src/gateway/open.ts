import { type Aim, AIMS, type AskedPolicy } from '../core/policy.ts'
import { isUtf8 } from 'node:buffer'
import type { Link } from '../core/chain.ts'
import type { Conversation } from '../core/conversation.ts'
import { PlimsollError } from '../core/errors.ts'
import type { EventBody, EventSink } from '../core/events.ts'
import type { Item } from '../core/item.ts'
import type { LearnedLimit } from '../core/target.ts'
import { sha256Text } from '../drivers/crypto/sha256.ts'
import type { LearnedLimits } from '../engine/learning/learned-limits.ts'
import { weightOf, type RecentBodies } from '../engine/memo/memo.ts'
import type { ToolOffer } from '../engine/readers/offered-tools.ts'
import type { GatewaySession, SessionOptions } from '../engine/session/session.ts'
import { checkBody } from '../formats/json/bounds.ts'
import type { Wire } from '../formats/registry.ts'
import type { Route } from '../formats/endpoints.ts'
import type { Clock } from '../ports/clock.ts'
import type { BoundedMap } from '../util/bounded-map.ts'
import { nextRound } from '../util/yield-now.ts'
import type { Conversations, Visit } from './conversations.ts'
import { AIM_HEADER, POLICY_HEADER } from './http/headers.ts'
import { providerHistoryOf, type ProviderHistory, type ProviderHistories } from './provider-histories.ts'
import type { HiddenDeps, HiddenSession } from './hidden/session.ts'
import type { StepOwner } from './hidden/session.ts'
import { decodeBody, isEncoded } from './http/encoding.ts'
import {
  OBSERVED,
  speakerOf,
  tenantOf,
  type ResponseSessions,
  type Speaker,
  type TenantRule,
  type UntoldSpeaker,
} from './identity.ts'
import type { Ledger } from '../compose/ledger.ts'
import type { QuotaRule, Quotas } from './operate/quotas.ts'
import type { IncomingRequest, Transport } from './types.ts'

export interface GatewayParts {
  readonly secret: () => Promise<Uint8Array>
  readonly bodies: RecentBodies
  readonly chain: (items: readonly Item[]) => readonly Link[]
  readonly responses: ResponseSessions
  readonly conversations: Conversations
  /** Read for each request, because they may change while the gateway runs. */
  readonly settings: () => GatewaySettings
  /** `bytes`: the session's approximate size; undefined to read it without keeping it open. */
  readonly session: (
    options: SessionOptions,
    asked: AskedPolicy | undefined,
    bytes: number | undefined,
  ) => GatewaySession
  readonly learned: LearnedLimits
  readonly quotas: Quotas
  readonly histories: ProviderHistories
  readonly ledger: Ledger
  readonly clock: Clock
  readonly emit: EventSink
  /** Tools of ours that requests get. */
  readonly hidden: HiddenDeps
  /** Other processes serve the same sessions and may get the next request, so an answer ends after it is recorded. */
  readonly isShared: boolean
}

export interface GatewayDeps extends GatewayParts {
  /** Limits that were guessed after a refusal without numbers. They apply to that conversation only, not to its endpoint. */
  readonly keptWithin: BoundedMap<string, LearnedLimit>
}

interface GatewaySettings {
  /** Windows of providers that requests leave room in. */
  readonly quotas?: readonly QuotaRule[]
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

const DEFAULT_MAX_BODY_BYTES = 64 * 1024 * 1024

export const maxBodyBytesOf = ({ maxBodyBytes = DEFAULT_MAX_BODY_BYTES }: GatewaySettings): number => maxBodyBytes

export const clientOf = async (
  deps: Pick<GatewayDeps, 'secret' | 'settings'>,
  { header, path, tenants }: Pick<IncomingRequest, 'header' | 'path' | 'tenants'>,
): Promise<string> => tenantOf(await deps.secret(), header, path, deps.settings().tenants ?? tenants)

/** A request that was read: the value that all later stages use, the engine included. */
export interface OpenedRequest {
  readonly incoming: IncomingRequest
  readonly transport: Transport
  readonly route: Route
  readonly wire: Wire
  /** The client's body, decoded. */
  readonly text: string
  /** The parsed body; after `withHiddenSteps` it contains the hidden steps. */
  readonly conversation: Conversation
  /** The content chain of its items. */
  readonly links: readonly Link[]
  readonly owner: StepOwner
  readonly session: GatewaySession
  /** The key that pays, if tenants are not identified by it. */
  readonly key?: string
  readonly mode: 'apply' | 'observe'
  readonly settings: GatewaySettings
  /** The conversation, if the client sent no name for it. */
  readonly visit: Visit | undefined
  /** The history that the provider stores of this conversation, or will store. */
  readonly providerHistory: ProviderHistory | undefined
  /** The session's hidden tools, and those that this request may declare. */
  readonly hidden?: HiddenSession
  readonly offer?: ToolOffer
  /** A further step for a tool of ours. */
  readonly isOwnStep?: true
  readonly emit: (event: EventBody) => void
}

function aimIn(asked: string | undefined): Aim | undefined {
  const aim = AIMS.find((one) => one === asked)
  if (asked === undefined || aim !== undefined) return aim
  throw new PlimsollError('bad-config', `${AIM_HEADER} is ${JSON.stringify(asked)}.`, {
    advice: `It is one of ${AIMS.join(', ')}.`,
  })
}

/** Reads a request and enters its conversation. */
export async function open(
  deps: GatewayDeps,
  incoming: IncomingRequest,
  route: Route,
  transport: Transport,
): Promise<OpenedRequest> {
  const settings = deps.settings()
  const wire = route.speaks
  const encoding = incoming.header('content-encoding')
  const { body } = incoming
  const bytes = isEncoded(encoding) ? await decodeBody(body, encoding, maxBodyBytesOf(settings)) : body
  await checkBody(bytes, nextRound)
  if (!isUtf8(bytes)) throw new PlimsollError('bad-input', 'The body is not valid UTF-8.')
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
  const asked = incoming.header(POLICY_HEADER)
  const mode = asked === 'observe' || (settings.observe === true && asked === undefined) ? 'observe' : 'apply'
  const client = await clientOf(deps, incoming)
  const tenant = mode === 'observe' ? OBSERVED + client : client
  const conversation = deps.bodies.decode(tenant, wire.codec, text)
  // A long history is hashed in parts, so that other requests get their turn; the chain caches what it has hashed.
  for (let to = CHAIN_STEP; to < conversation.items.length; to += CHAIN_STEP) {
    linksOf(deps, { ...conversation, items: conversation.items.slice(0, to) })
    await nextRound()
  }
  const links = linksOf(deps, conversation)
  const isQuestion = route.action === 'count'
  const found = await speakerOf({
    header: incoming.header,
    fields: wire.codec.fields(conversation),
    items: conversation.items,
    hash,
    ownerOfResponse: (id) => deps.responses.find(tenant, id),
  })
  let visit: Visit | undefined
  let speaker: Speaker
  if ('base' in found) {
    const unnamed = { tenant, scope: found.scope, base: found.base, items: conversation.items, links }
    if (!isQuestion) visit = await deps.conversations.enter(unnamed)
    speaker = named(found, visit?.name ?? (await deps.conversations.find(unnamed)))
  } else speaker = found
  const { session: id, agent } = speaker
  const owner = { tenant, session: id, agent }
  const key = incoming.tenants === undefined ? undefined : tenantOf(await deps.secret(), incoming.header, incoming.path)
  const policy = mode === 'apply' ? { policy: asked, aim: aimIn(incoming.header(AIM_HEADER)) } : undefined
  const weight = isQuestion ? undefined : weightOf(text, conversation.items.length)
  return {
    incoming,
    transport,
    route,
    wire,
    text,
    conversation,
    links,
    owner,
    session: deps.session({ tenant, id, agent }, policy, weight),
    key,
    mode,
    settings,
    visit,
    providerHistory:
      mode === 'observe' || wire.codec.providerHistory === undefined
        ? undefined
        : providerHistoryOf(deps.histories, { codec: wire.codec, text, conversation, owner }),
    emit: (event) => deps.emit({ ...event, ...owner, at: deps.clock.now() }),
  }
}

const named = ({ speaker: { session, agent }, names }: UntoldSpeaker, name: string): Speaker =>
  names === 'session' ? { session: name, agent } : { session, agent: name }

const hash = (text: string): string => sha256Text(text, 'hex').slice(0, 40)

/** The content chain of a conversation. */
export const linksOf = ({ chain }: Pick<GatewayDeps, 'chain'>, conversation: Conversation): readonly Link[] =>
  chain(conversation.items)

/** Items that are hashed at once. */
const CHAIN_STEP = 4_000

import { isAscii, isUtf8 } from 'node:buffer'
import type { Link } from '../../core/chain.ts'
import type { Codec } from '../../core/codec.ts'
import type { Conversation } from '../../core/conversation.ts'
import { PlimsollError } from '../../core/errors.ts'
import type { QuotedText } from '../../core/identity.ts'
import type { Item } from '../../core/item.ts'
import { sha256Text } from '../../drivers/crypto/sha256.ts'
import type { RecentBodies } from '../../engine/memo/recent-bodies.ts'
import type { Route } from '../../formats/endpoints.ts'
import { yieldNow, type Pause } from '../../util/yield-now.ts'
import type { Conversations, Visit } from '../conversations/conversations.ts'
import type { ResponseSessions } from '../conversations/response-sessions.ts'
import type { IncomingRequest } from '../exchange-types.ts'
import { POLICY_HEADER } from '../headers.ts'
import type { StepOwner } from '../hidden/steps.ts'
import { decodeBody, isEncoded } from '../http/encoding.ts'
import { OBSERVED, speakerOf, tenantOf, type Speaker, type TenantRule, type UntoldSpeaker } from '../identity.ts'

export interface OpenDeps {
  readonly secret: () => Promise<Uint8Array>
  readonly codecs: ReadonlyMap<string, Codec>
  readonly bodies: RecentBodies
  readonly chain: (items: readonly Item[], quoted?: QuotedText) => readonly Link[]
  readonly responses: ResponseSessions
  readonly conversations: Conversations
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

const DEFAULT_MAX_BODY_BYTES = 64 * 1024 * 1024

export const maxBodyBytesOf = ({ maxBodyBytes = DEFAULT_MAX_BODY_BYTES }: GatewaySettings): number => maxBodyBytes

export const clientOf = async (
  deps: Pick<OpenDeps, 'secret' | 'settings'>,
  { header, path, tenants }: Pick<IncomingRequest, 'header' | 'path' | 'tenants'>,
): Promise<string> => tenantOf(await deps.secret(), header, path, deps.settings().tenants ?? tenants)

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
  /** Who pays, where that is not what tells tenants apart. */
  readonly key: string | undefined
  /** The conversation of a client that sent no name for it. */
  readonly visit: Visit | undefined
}

/** Reads a request and enters its conversation. */
export async function open(deps: OpenDeps, request: IncomingRequest, route: Route): Promise<OpenedRequest> {
  const settings = deps.settings()
  const codec = deps.codecs.get(route.wire)!
  const pause = yieldNow(SLICE_MS)
  const encoding = request.header('content-encoding')
  const { body } = request
  const text = utf8(isEncoded(encoding) ? await decodeBody(body, encoding, maxBodyBytesOf(settings)) : body)
  const asked = request.header(POLICY_HEADER)
  const mode = asked === 'observe' || (settings.observe === true && asked === undefined) ? 'observe' : 'apply'
  const client = await clientOf(deps, request)
  const tenant = mode === 'observe' ? OBSERVED + client : client
  const decode = (written: string): Conversation => deps.bodies.decode(tenant, codec, written)
  const conversation = decode(text)
  await pause()
  const { items } = conversation
  const chain = (some: readonly Item[]): readonly Link[] => deps.chain(some, (item) => codec.quoted(conversation, item))
  if (items.length > CHAIN_STEP) await chainAhead(chain, items, pause)
  const links = chain(items)
  const found = await speakerOf({
    header: request.header,
    fields: codec.fields(conversation),
    items,
    hash,
    ownerOfResponse: (id) => deps.responses.find(tenant, id),
  })
  const isQuestion = route.action === 'count'
  let visit: Visit | undefined
  let speaker: Speaker
  if ('base' in found) {
    const unnamed = { tenant, scope: found.scope, base: found.base, items, links }
    if (!isQuestion) visit = await deps.conversations.enter(unnamed)
    speaker = named(found, visit?.name ?? (await deps.conversations.find(unnamed)))
  } else speaker = found
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
    key: request.tenants === undefined ? undefined : tenantOf(await deps.secret(), request.header, request.path),
    visit,
  }
}

const named = ({ speaker: { session, agent }, names }: UntoldSpeaker, name: string): Speaker =>
  names === 'session' ? { session: name, agent } : { session, agent: name }

const hash = (text: string): string => sha256Text(text, 'hex').slice(0, 40)

/** Others get their turn when this long was worked on one request. */
const SLICE_MS = 20
/** Items that are hashed at once; the chain remembers how far it came. */
const CHAIN_STEP = 4_000

/** Makes the chain of a long history a part at a time, so that others get their turn. */
async function chainAhead(chain: OpenDeps['chain'], items: readonly Item[], pause: Pause): Promise<void> {
  for (let to = CHAIN_STEP; to < items.length; to += CHAIN_STEP) {
    chain(items.slice(0, to))
    await pause()
  }
}

/** Most bodies are plain ASCII, and a check and a copy cost a tenth of decoding. */
function utf8(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (isAscii(buffer)) return buffer.toString('latin1')
  if (isUtf8(buffer)) return buffer.toString('utf8')
  throw new PlimsollError('bad-input', 'The body is not valid UTF-8.')
}

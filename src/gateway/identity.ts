import { CLAUDE_CODE, type Hash, identityOf } from '../core/identity.ts'
import type { Item } from '../core/item.ts'
import { isRecord } from '../core/values.ts'
import { VENDOR_CREDENTIALS, type HeaderReader } from '../formats/endpoints.ts'
import { signatureIn } from '../drivers/crypto/aws-signature.ts'
import { tenantName } from '../drivers/crypto/tenant-name.ts'
import { randomBytes } from 'node:crypto'
import { BoundedMap } from '../util/bounded-map.ts'
import type { SessionStore } from '../ports/session-store.ts'

export type { HeaderReader } from '../formats/endpoints.ts'

/** Set by the caller; has priority over everything else in the request. */
export const SESSION_HEADER = 'x-plimsoll-session'
export const AGENT_HEADER = 'x-plimsoll-agent'

/** Longer names are hashed: a name is a key in a store, not a document. */
const MAX_NAME = 200

/** Requests without a credential: agents of a local model. */
export const LOCAL_TENANT = 'local'

/** The prefix of tenants in observe mode, whose decisions are never applied. */
export const OBSERVED = 'observed-'

/**
 * How tenants are told apart. `credential`: one tenant per credential. `one`: all requests are one tenant, for a proxy of one person or team
 * whose tokens are renewed. `header:<name>`: by the value of that header, for a proxy that only a trusted gateway can reach.
 */
export type TenantRule = string

/** The headers of vendors, and those of gateways before them. */
const OTHER_CREDENTIAL_HEADERS = [
  ...VENDOR_CREDENTIALS.headers,
  'x-auth-token',
  'ocp-apim-subscription-key',
  'cookie',
].filter((name) => name !== 'authorization')
const CREDENTIAL_PARAMETERS = [...VENDOR_CREDENTIALS.parameters, 'api_key', 'api-key', 'access_token']

/**
 * The tenant is a keyed hash of the client's credentials: stable, and useless to a reader of a log. All credentials are hashed,
 * because it is not known which of them the upstream checks.
 */
export function tenantOf(secret: Uint8Array, header: HeaderReader, path = '', rule: TenantRule = 'credential'): string {
  if (rule === 'one') return LOCAL_TENANT
  if (rule.startsWith('header:')) {
    const named = header(rule.slice('header:'.length).trim().toLowerCase())?.trim() ?? ''
    if (named !== '') return tenantName(secret, `named:${named}`)
  }
  const given: string[] = []
  const add = (sent: string | undefined): void => {
    const one = sent?.trim() ?? ''
    if (one !== '') given.push(one)
  }
  // Signatures differ for each request, so the access key in them is used.
  add(signatureIn(header('authorization'))?.accessKeyId ?? bearerIn(header))
  for (const name of OTHER_CREDENTIAL_HEADERS) add(header(name))
  const at = path.indexOf('?')
  if (at >= 0) {
    const query = new URLSearchParams(path.slice(at + 1))
    for (const name of CREDENTIAL_PARAMETERS) query.getAll(name).forEach(add)
  }
  // SDKs changed the header between versions, and some send the key twice: the same key is the same tenant.
  const credentials = given.length < 2 ? given : [...new Set(given)].sort()
  if (credentials.length === 0) return LOCAL_TENANT
  return tenantName(secret, credentials.length === 1 ? credentials[0]! : JSON.stringify(credentials))
}

export const bearerIn = (header: HeaderReader): string | undefined =>
  header('authorization')
    ?.replace(/^Bearer(\s+|$)/i, '')
    .trim()

export interface Speaker {
  readonly session: string
  readonly agent: string
}

/** A speaker whose name depends on which conversation with this beginning the request belongs to. */
export interface UntoldSpeaker extends Kin {
  /** The speaker if it is the first conversation with this beginning. */
  readonly speaker: Speaker
  /** Whether the conversation's name becomes the session or the agent. */
  readonly names: keyof Speaker
}

interface SpeakerClues {
  readonly header: HeaderReader
  /** The members of the request's body. */
  readonly fields: Readonly<Record<string, unknown>>
  readonly items: readonly Item[]
  readonly hash: Hash
  /** The owner of a stored response. */
  readonly ownerOfResponse: (id: string) => Promise<ResponseOwner | undefined>
}

/**
 * Finds session and agent: from explicit headers, from what real clients send, or from the conversation itself. Sub-agents share their parent's
 * session id, and some clients use one id for all users, so conversations with the same session id are told apart as agents.
 */
export async function speakerOf(clues: SpeakerClues): Promise<Speaker | UntoldSpeaker> {
  const { header, hash, fields } = clues
  // An empty header names no session.
  const own = header(SESSION_HEADER) || undefined
  const named = own ?? clientSession(header, fields)
  const { previous_response_id: previous, conversation } = fields
  // A history that the provider stores belongs to the speaker of the response that the request continues.
  let continued: Partial<Speaker> | undefined
  if (typeof previous === 'string' && previous !== '')
    continued = (await clues.ownerOfResponse(previous)) ?? { session: `response-${previous}` }
  else if (nameIn(conversation) !== undefined) continued = { agent: 'main' }
  const speaker = (session: string, agent: string): Speaker => ({
    session: bounded(session, hash),
    agent: bounded(agent, hash),
  })
  const agent = (header(AGENT_HEADER) || undefined) ?? continued?.agent
  const session = named ?? continued?.session
  if (session === undefined) {
    const base = sessionBase(beginningOf(clues.items, hash))
    return { scope: '', base, names: 'session', speaker: speaker(base, agent ?? 'main') }
  }
  if (agent !== undefined || named === undefined || own !== undefined) return speaker(session, agent ?? 'main')
  const base = agentBase(beginningOf(clues.items, hash))
  const found = speaker(session, base)
  return { scope: found.session, base, names: 'agent', speaker: found }
}

/** NUL and lone surrogates are removed, because not every database, and no header, can store them. */
const UNSAFE = /[\0\p{Surrogate}]/u

const bounded = (name: string, hash: Hash): string =>
  name.length <= MAX_NAME && !UNSAFE.test(name) ? name : `long-${hash(JSON.stringify(name))}`

/** Session headers of clients: Codex, opencode and others. */
const SESSION_HEADERS = [
  'session_id',
  'session-id',
  'conversation_id',
  'x-session-id',
  'x-opencode-session',
  'x-claude-code-session-id',
]

function clientSession(header: HeaderReader, fields: SpeakerClues['fields']): string | undefined {
  const user = isRecord(fields['metadata']) ? fields['metadata']['user_id'] : undefined
  // Claude Code sends `user_<hash>_account_<id>_session_<uuid>`, newer versions a JSON object with `session_id`.
  const match = typeof user === 'string' ? /session_(?:id"?\s*:\s*")?([0-9a-zA-Z-]{8,64})/.exec(user) : null
  if (match !== null) return `claude-code-${match[1]}`
  for (const name of SESSION_HEADERS) {
    const value = header(name)
    if (value) return `${name}-${value}`
  }
  for (const key of isRecord(fields['conversation']) ? ['conversation', ...NAMES] : NAMES) {
    const value = nameIn(fields[key])
    if (value !== undefined) return `${key}-${value}`
  }
  return undefined
}

const NAMES = ['prompt_cache_key', 'conversation', 'session_id']

/** A name as clients write it: as text, or as an object with an id. */
function nameIn(value: unknown): string | undefined {
  const name = isRecord(value) ? value['id'] : value
  return typeof name === 'string' && name !== '' ? name : undefined
}

/** Identity of the first user message; reminders that the client injects are ignored. */
function beginningOf(items: readonly Item[], hash: Hash): string {
  for (const item of items) {
    const identity = item.kind === 'user' || item.kind === 'media' ? identityOf(item, hash, CLAUDE_CODE) : undefined
    if (identity !== undefined) return hash(identity).slice(0, 16)
  }
  return hash('').slice(0, 16)
}

/** The keys of a conversation without a name: where its name is stored, and the name of the first one with this beginning. */
export interface Kin {
  /** The session that the client named; empty if it named none. */
  readonly scope: string
  readonly base: string
}

/** The name of the first session with this beginning, if the client names none. */
const sessionBase = (beginning: string): string => `chain-${beginning}`
/** The name of the first agent with this beginning, in a session that the client named. */
const agentBase = (beginning: string): string => `begin-${beginning.slice(0, 8)}`

/** A name for another conversation with the same beginning. */
export const anotherName = (base: string): string => `${base}-${randomBytes(4).toString('hex')}`

/** The owner of a stored response. */
interface ResponseOwner {
  readonly session: string
  /** Absent in entries from before agents were stored. */
  readonly agent?: string
}

/** The owners of stored responses: a chained request only contains its newest items and the id of the previous response. */
export interface ResponseSessions {
  find(tenant: string, responseId: string): Promise<ResponseOwner | undefined>
  remember(tenant: string, responseId: string, owner: ResponseOwner): Promise<void>
}

const MOST_KNOWN = 10_000

export function responseSessions(store: Pick<SessionStore, 'getValue' | 'setValue'>): ResponseSessions {
  const known = new BoundedMap<string, ResponseOwner>(MOST_KNOWN)
  const keyOf = (id: string): string => `response-session:${id.slice(0, 200)}`
  return {
    async find(tenant, id) {
      const owner = known.get(`${tenant}\n${id}`)
      if (owner !== undefined) return owner
      const stored = await store.getValue(tenant, keyOf(id))
      return stored === undefined ? undefined : ownerIn(stored)
    },
    async remember(tenant, id, owner) {
      known.set(`${tenant}\n${id}`, owner)
      await store.setValue(tenant, keyOf(id), JSON.stringify(owner), false, { session: owner.session })
    },
  }
}

/** Older entries only contain the session's name. */
function ownerIn(stored: string): ResponseOwner {
  if (!stored.startsWith('{"session":')) return { session: stored }
  return JSON.parse(stored) as ResponseOwner
}

import { CLAUDE_CODE, type Hash, identityOf } from '../core/identity.ts'
import type { Item } from '../core/item.ts'
import { isRecord } from '../core/values.ts'
import { VENDOR_CREDENTIALS, type HeaderReader } from '../formats/endpoints.ts'
import { tenantName } from '../drivers/crypto/tenant-name.ts'
import { randomBytes } from 'node:crypto'
import { BoundedMap } from '../util/bounded-map.ts'
import type { SessionStore } from '../ports/session-store.ts'

export type { HeaderReader } from '../formats/endpoints.ts'

/** Set by the caller; wins over everything that can be read from the request. */
export const SESSION_HEADER = 'x-plimsoll-session'
const AGENT_HEADER = 'x-plimsoll-agent'

/** Longer names are hashed: a name is a key in a store, not a document. */
const MAX_NAME = 200

/** Whoever sends no credential: agents of a local model. */
export const NOBODY = 'local'

/** What is only observed is kept apart under this, so that nothing of it can ever be applied. */
export const OBSERVED = 'observed-'

/**
 * Whose content a request is. `credential`: one tenant per credential. `one`: everybody who gets in, for a proxy of one person or team
 * whose tokens are renewed. `header:<name>`: what that header says, for a proxy that only a trusted gateway can reach.
 */
export type TenantRule = string

/** The vendors' own, and what gateways in front of them take. */
const OTHER_CREDENTIAL_HEADERS = [
  ...VENDOR_CREDENTIALS.headers,
  'x-auth-token',
  'ocp-apim-subscription-key',
  'cookie',
].filter((name) => name !== 'authorization')
const CREDENTIAL_PARAMETERS = [...VENDOR_CREDENTIALS.parameters, 'api_key', 'api-key', 'access_token']

/**
 * The tenant is a keyed hash of what the client authenticates with: stable, and useless to whoever reads it in a log. All of it counts,
 * since nobody here knows which credential the upstream looks at.
 */
export function tenantOf(secret: Uint8Array, header: HeaderReader, path = '', rule: TenantRule = 'credential'): string {
  if (rule === 'one') return NOBODY
  if (rule.startsWith('header:')) {
    const named = header(rule.slice('header:'.length).trim().toLowerCase())?.trim() ?? ''
    if (named !== '') return tenantName(secret, `named:${named}`)
  }
  const given: string[] = []
  const add = (sent: string | undefined): void => {
    const one = sent?.trim() ?? ''
    if (one !== '') given.push(one)
  }
  add(bearerIn(header))
  for (const name of OTHER_CREDENTIAL_HEADERS) add(header(name))
  const at = path.indexOf('?')
  if (at >= 0) {
    const query = new URLSearchParams(path.slice(at + 1))
    for (const name of CREDENTIAL_PARAMETERS) query.getAll(name).forEach(add)
  }
  // SDKs moved from one header to another between versions, and some send theirs twice: the same key is the same tenant.
  const credentials = given.length < 2 ? given : [...new Set(given)].sort()
  if (credentials.length === 0) return NOBODY
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

/** A speaker who is known when it is told which of the conversations that begin alike this one is. */
export interface UntoldSpeaker extends Kin {
  /** The speaker if it is the first of them. */
  readonly speaker: Speaker
  /** What the name of the conversation stands for. */
  readonly names: keyof Speaker
}

interface SpeakerClues {
  readonly header: HeaderReader
  /** The request's own members. */
  readonly fields: Readonly<Record<string, unknown>>
  readonly items: readonly Item[]
  readonly hash: Hash
  /** Whose a stored response is. */
  readonly ownerOfResponse: (id: string) => Promise<ResponseOwner | undefined>
}

/**
 * Who is speaking: explicit headers, then what real clients send, else what the conversation itself says. Sub-agents share their parent's
 * session id, and some clients one id among all their users, so conversations under such a name are told apart as agents.
 */
export async function speakerOf(clues: SpeakerClues): Promise<Speaker | UntoldSpeaker> {
  const { header, hash, fields } = clues
  const own = given(header, SESSION_HEADER)
  const named = own ?? clientSession(header, fields)
  const { previous_response_id: previous } = fields
  const continued =
    typeof previous === 'string' && previous !== '' ? await continuedBy(clues, previous) : conversationIn(fields)
  const speaker = (session: string, agent: string): Speaker => ({
    session: bounded(session, hash),
    agent: bounded(agent, hash),
  })
  const agent = given(header, AGENT_HEADER) ?? continued?.agent
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

/** An empty header names nobody. */
function given(header: HeaderReader, name: string): string | undefined {
  const value = header(name)
  return value === '' ? undefined : value
}

/** NUL and lone surrogates do not survive every database, nor a header. */
const UNSAFE = /[\0\p{Surrogate}]/u

const bounded = (name: string, hash: Hash): string =>
  name.length <= MAX_NAME && !UNSAFE.test(name) ? name : `long-${hash(JSON.stringify(name))}`

/** Headers that clients send for their own bookkeeping: Codex, opencode and others. */
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
    if (value !== undefined && value !== '') return `${name}-${value}`
  }
  const { conversation } = fields
  if (isRecord(conversation) && typeof conversation['id'] === 'string') return `conversation-${conversation['id']}`
  for (const key of ['prompt_cache_key', 'conversation', 'session_id']) {
    const value = fields[key]
    if (typeof value === 'string' && value !== '') return `${key}-${value}`
  }
  return undefined
}

/** A history that the provider holds has one speaker, whatever its newest items begin with: the response or conversation that the request continues tells who. */
const continuedBy = async ({ ownerOfResponse }: SpeakerClues, previous: string): Promise<Partial<Speaker>> =>
  (await ownerOfResponse(previous)) ?? { session: `response-${previous}` }

function conversationIn({ conversation }: SpeakerClues['fields']): Partial<Speaker> | undefined {
  const id = isRecord(conversation) ? conversation['id'] : conversation
  return typeof id === 'string' && id !== '' ? { agent: 'main' } : undefined
}

/** Identity of the first thing that a person said: reminders that the client injects do not count. */
function beginningOf(items: readonly Item[], hash: Hash): string {
  const named = (identity: string): string => hash(identity).slice(0, 16)
  for (const item of items) {
    if (item.kind !== 'user' && item.kind !== 'media') continue
    let known = beginnings.get(item)
    if (known === undefined) {
      const identity = identityOf(item, hash, CLAUDE_CODE)
      known = identity === undefined ? NOBODY_SAID : named(identity)
      beginnings.set(item, known)
    }
    if (known !== NOBODY_SAID) return known
  }
  return named('')
}

/** The same item begins every request of a conversation. */
const beginnings = new WeakMap<Item, string>()
const NOBODY_SAID = ''

/** What a conversation is kept under: where its name is looked for, and the name of the first that begins like it. */
export interface Kin {
  /** A session that the client named, or nothing. */
  readonly scope: string
  readonly base: string
}

/** The first session that begins with this, where its client names none. */
const sessionBase = (beginning: string): string => `chain-${beginning}`
/** The first agent that begins with this, in a session that its client named. */
const agentBase = (beginning: string): string => `begin-${beginning.slice(0, 8)}`

/** For one that begins alike and is another. */
export const anotherName = (base: string): string => `${base}-${randomBytes(4).toString('hex')}`

/** Whose a stored response is. */
interface ResponseOwner {
  readonly session: string
  /** Absent in what was stored before agents were. */
  readonly agent?: string
}

/** Whose stored responses are: a chained request shows only its newest items, and names the response before them. */
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

/** Older entries are the name of the session alone. */
function ownerIn(stored: string): ResponseOwner {
  if (!stored.startsWith('{"session":')) return { session: stored }
  return JSON.parse(stored) as ResponseOwner
}

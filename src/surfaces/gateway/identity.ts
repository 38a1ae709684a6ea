import type { Hash } from '../../core/hash.ts'
import { CLAUDE_CODE, identityOf } from '../../core/identity.ts'
import type { Item } from '../../core/item.ts'
import { isRecord } from '../../core/values.ts'
import { credentialOf, type HeaderReader } from '../../formats/endpoints.ts'
import { tenantName } from '../../drivers/crypto/tenant-name.ts'

export type { HeaderReader } from '../../formats/endpoints.ts'

/** Set by the caller; wins over everything that can be read from the request. */
export const SESSION_HEADER = 'x-plimsoll-session'
export const AGENT_HEADER = 'x-plimsoll-agent'

/** Longer names are hashed: a name is a key in a store, not a document. */
const MAX_NAME = 200

/** The tenant is a keyed hash of the client's credential: stable, and useless to whoever reads it in a log. */
export function tenantOf(secret: Uint8Array, header: HeaderReader, path = ''): string {
  const credential = credentialOf(header, path)
  if (credential === undefined || credential === '') return 'local'
  return tenantName(secret, credential)
}

export interface Speaker {
  readonly session: string
  readonly agent: string
}

export interface SpeakerClues {
  readonly header: HeaderReader
  /** The request's own members. */
  readonly fields: Readonly<Record<string, unknown>>
  readonly items: readonly Item[]
  readonly hash: Hash
  /** The session that a stored response belongs to. */
  readonly sessionOfResponse: (id: string) => Promise<string | undefined>
}

/**
 * Who is speaking: explicit headers, then what real clients send, else the conversation's own beginning. Sub-agents share
 * their parent's session id and begin with another task, so the beginning also tells agents apart.
 */
export async function speakerOf(clues: SpeakerClues): Promise<Speaker> {
  const { header, hash, fields } = clues
  const named = header(SESSION_HEADER) ?? clientSession(header, fields)
  const beginning = hash(beginningOf(clues.items, hash)).slice(0, 16)
  const previous = named === undefined ? await chainedSession(clues) : undefined
  const session = named ?? previous ?? `chain-${beginning}`
  const agent =
    header(AGENT_HEADER) ??
    (named !== undefined && header(SESSION_HEADER) === undefined ? `begin-${beginning.slice(0, 8)}` : 'main')
  return { session: bounded(session, hash), agent: bounded(agent, hash) }
}

const bounded = (name: string, hash: Hash): string => (name.length <= MAX_NAME ? name : `long-${hash(name)}`)

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

/** A chained request shows only its newest items; the response that it continues knows the session. */
async function chainedSession({ sessionOfResponse, fields }: SpeakerClues): Promise<string | undefined> {
  const previous = fields['previous_response_id']
  if (typeof previous !== 'string' || previous === '') return undefined
  return (await sessionOfResponse(previous)) ?? `response-${previous}`
}

/** Identity of the first thing that a person said: reminders that the client injects do not count. */
function beginningOf(items: readonly Item[], hash: Hash): string {
  for (const item of items) {
    if (item.kind !== 'user' && item.kind !== 'media') continue
    const identity = identityOf(item, hash, CLAUDE_CODE)
    if (identity !== undefined) return identity
  }
  return ''
}

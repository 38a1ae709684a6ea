import { createHmac } from 'node:crypto'

export type HeaderReader = (name: string) => string | undefined

/** Set by the caller; wins over everything that can be read from the request. */
export const SESSION_HEADER = 'x-plimsoll-session'
export const AGENT_HEADER = 'x-plimsoll-agent'

/** The tenant is a keyed hash of the client's credential: stable, and useless to whoever reads it in a log. */
export function tenantOf(secret: Uint8Array, header: HeaderReader): string {
  // SDKs moved from one header to the other between versions; the same key is the same tenant.
  const sent = header('x-api-key') ?? header('authorization') ?? header('x-goog-api-key') ?? header('api-key')
  const credential = sent?.replace(/^Bearer\s+/i, '')
  if (credential === undefined || credential === '') return 'local'
  return `t_${createHmac('sha256', secret).update(`tenant:${credential}`).digest('hex').slice(0, 32)}`
}

/** Explicit header, then what real clients send, else the conversation's own beginning. */
export function sessionOf(header: HeaderReader, body: unknown, beginning: () => string): string {
  return header(SESSION_HEADER) ?? clientSession(body) ?? `chain-${beginning().slice(0, 16)}`
}

function clientSession(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const fields = body as Record<string, unknown>
  const metadata = fields['metadata']
  const user =
    typeof metadata === 'object' && metadata !== null ? (metadata as Record<string, unknown>)['user_id'] : undefined
  // Claude Code sends `user_<hash>_account_<id>_session_<uuid>`, newer versions a JSON object with `session_id`.
  const match = typeof user === 'string' ? /session_(?:id"?\s*:\s*")?([0-9a-zA-Z-]{8,64})/.exec(user) : null
  if (match !== null) return `claude-code-${match[1]}`
  for (const key of ['prompt_cache_key', 'conversation', 'session_id']) {
    const value = fields[key]
    if (typeof value === 'string' && value !== '') return `${key}-${value}`
  }
  return undefined
}

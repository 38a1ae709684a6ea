import { randomBytes } from 'node:crypto'

/** What a conversation is kept under: where its name is looked for, and the name of the first that begins like it. */
export interface Kin {
  /** A session that the client named, or nothing. */
  readonly scope: string
  readonly base: string
}

/** The first session that begins with this, where its client names none. */
export const sessionBase = (beginning: string): string => `chain-${beginning}`
/** The first agent that begins with this, in a session that its client named. */
export const agentBase = (beginning: string): string => `begin-${beginning.slice(0, 8)}`

/** For one that begins alike and is another. */
export const anotherName = (base: string): string => `${base}-${randomBytes(4).toString('hex')}`

const SESSION = /^(chain-[0-9a-f]{16})(?:-[0-9a-f]{8})?$/
const AGENT = /^(begin-[0-9a-f]{8})(?:-[0-9a-f]{8})?$/

/**
 * What a conversation with these names is kept under. The names alone tell, since a client may send back the one that it was given, and a
 * stored answer is known by them.
 */
export function kinOf(session: string, agent: string): Kin {
  const begun = SESSION.exec(session)
  if (begun !== null) return { scope: '', base: begun[1]! }
  return { scope: session, base: AGENT.exec(agent)?.[1] ?? '' }
}

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

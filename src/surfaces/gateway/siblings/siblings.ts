import { sha256Text } from '../../../drivers/crypto/sha256.ts'

/** Conversations belong to one of several processes on one store. */
export interface Owners {
  /** The number of the process that conversations kept under this key belong to; undefined when it is this one. */
  ownerOf(key: string): number | undefined
}

/**
 * Processes on one port and one store, each with its own conversations: what a process remembers of them nobody else changes, so that they need
 * no locks in the store. A request that comes to another process is handed over.
 */
export interface Siblings extends Owners {
  /** The number of this process. */
  readonly self: number
  /** Where the process of that number takes what is handed over: a socket that only this user can open. */
  addressOf(process: number): string
}

/** By the key alone: a process that takes another's place has its number, and its conversations. */
export const ownersAmong = (self: number, count: number): Owners => ({
  ownerOf(key) {
    const owner = parseInt(sha256Text(key, 'hex').slice(0, 8), 16) % count
    return owner === self ? undefined : owner
  },
})

/**
 * Several processes on one port and one store. Each conversation belongs to one of them, the first that met it: what that one holds in memory
 * is all there is to know about it, and no lock in the store is needed. A request that comes to another process is handed over.
 */
export interface Siblings extends Owners {
  /** Where the process of that number takes what is handed over: a socket that only this user can open. */
  addressOf(process: number): string
  /** The number of this process. */
  readonly self: number
}

export interface Owners {
  /** The number of the process that these conversations belong to; undefined when it is this one. */
  ownerOf(conversations: string): number | undefined | Promise<number | undefined>
}

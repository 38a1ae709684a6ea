import type { Server } from 'node:http'
import { handOver, type HandOver } from './hand-over.ts'
import { listenInside } from './listen-inside.ts'
import type { Siblings } from './siblings.ts'

/** A process among the others of its proxy. */
export interface Joined {
  readonly handOver: HandOver
  /** Takes nothing more from the others; resolves with the number of their requests that had to be cut off. */
  drain(drainMs: number): Promise<number>
}

/** What a server is asked from then on was handed over by another process. @throws PlimsollError `bad-config` */
export async function joinSiblings(
  siblings: Siblings,
  { server, drain }: { readonly server: Server; readonly drain: (drainMs: number) => Promise<number> },
  isStopping: () => boolean,
): Promise<Joined> {
  // Who is on the other side knows when it is done with a connection.
  server.keepAliveTimeout = 0
  const { stop } = await listenInside(server, siblings.addressOf(siblings.self))
  return {
    handOver: handOver(siblings, isStopping),
    drain(drainMs) {
      stop()
      return drain(drainMs)
    },
  }
}

import type { Server } from 'node:http'
import type { Socket } from 'node:net'

const SWEEP_MS = 25

/**
 * Lets a server end: no new connections, and those that are there as soon as they have nothing under way. Gives back the function that does
 * so; it resolves when every connection is closed, with the number of those that had to be cut off. Called before the server listens.
 */
export function drainable(server: Server): (drainMs: number) => Promise<number> {
  const busy = busyConnections(server)
  return async (drainMs) => {
    let cut = 0
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    // A kept-alive connection becomes idle when its last answer is out, which may be after this line.
    const closeIdle = (): void => {
      for (const [socket, answers] of busy) if (answers === 0 && socket.writableLength === 0) socket.destroySoon()
    }
    closeIdle()
    const sweep = setInterval(closeIdle, SWEEP_MS)
    const timer = setTimeout(() => {
      cut = [...busy.values()].filter((answers) => answers > 0).length
      server.closeAllConnections()
    }, drainMs)
    await closed
    clearInterval(sweep)
    clearTimeout(timer)
    return cut
  }
}

/** Connections with the number of their answers that are not out yet. Node calls one idle whose answer still waits for a slow reader. */
function busyConnections(server: Server): ReadonlyMap<Socket, number> {
  const busy = new Map<Socket, number>()
  server.on('connection', (socket: Socket) => {
    busy.set(socket, 0)
    socket.once('close', () => busy.delete(socket))
  })
  server.on('request', ({ socket }, response) => {
    const count = (by: number): void => {
      if (busy.has(socket)) busy.set(socket, busy.get(socket)! + by)
    }
    count(1)
    response.once('close', () => count(-1))
  })
  return busy
}

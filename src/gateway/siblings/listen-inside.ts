import { existsSync, lstatSync, mkdirSync, rmSync } from 'node:fs'
import { maxHeaderSize } from 'node:http'
import { Server as SocketServer } from 'node:net'
import { dirname } from 'node:path'
import { PlimsollError } from '../../core/errors.ts'

/** Headers that came in, or from an upstream, just within Node's limit have a few of ours with them between two processes. */
export const INSIDE_HEADERS = 2 * maxHeaderSize

/** As many as may wait to be heard: on such a socket others are refused at once. */
const BACKLOG = 4_096

/** How soon a socket that was removed is made again; those who want to hand over wait longer. */
const LOOK_EVERY_MS = 1_000

/** Pipes of Windows stand in no folder. */
const hasFiles = process.platform !== 'win32'

/**
 * Has a server take what other processes of this proxy hand over, until `stop` is called: a cleaner of temporary files may remove the socket,
 * and then it is made again. @throws PlimsollError `bad-config`
 */
export async function listenInside(server: SocketServer, path: string): Promise<{ stop(): void }> {
  await listen(server, path).catch((cause: Error) => {
    throw new PlimsollError('bad-config', `Workers cannot reach each other at ${path}: ${cause.message}.`, { cause })
  })
  if (!hasFiles) return { stop: () => undefined }
  const timer = setInterval(() => {
    if (existsSync(path)) return
    // Only its socket: connections that are open stay so, which closing a server of HTTP would end.
    if (server.listening) SocketServer.prototype.close.call(server)
    // Where that cannot be done now it is tried again.
    listen(server, path).catch(() => undefined)
  }, LOOK_EVERY_MS).unref()
  return { stop: () => clearInterval(timer) }
}

async function listen(server: SocketServer, path: string): Promise<void> {
  if (hasFiles) {
    makeFolder(dirname(path))
    // What a process left behind that was killed is in the way of the one that takes its place.
    rmSync(path, { force: true })
  }
  await new Promise<void>((resolve, reject) => {
    const onListening = (): void => {
      server.off('error', onError)
      resolve()
    }
    const onError = (error: Error): void => {
      server.off('listening', onListening)
      reject(error)
    }
    server.once('listening', onListening).once('error', onError)
    // Not shared with the other processes, as a port would be.
    server.listen({ path, exclusive: true, backlog: BACKLOG })
  })
}

/** It was there when the proxy was started. */
function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    if (!isOwn(folder)) throw new Error(`${folder} is not this user’s own folder`, { cause: error })
  }
}

/** Whether what stands at this path is a folder of this user's. Where temporary files are, others may put theirs once ours was removed. */
function isOwn(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false })
  return found?.isDirectory() === true && found.uid === process.getuid?.()
}

/** Whether a socket may be connected to: requests hold credentials. */
export const isInOwnFolder = (path: string): boolean => !hasFiles || isOwn(dirname(path))

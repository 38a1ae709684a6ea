import cluster from 'node:cluster'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PlimsollEvent } from '../core/events.ts'
import type { Siblings } from '../gateway/siblings/siblings.ts'

/** What a parent says to a worker when it starts it. */
export interface WorkerPlace {
  readonly number: number
  readonly count: number
  /** Where workers listen for each other; undefined where there is no such place. */
  readonly folder: string | undefined
}

const PLACE = 'PLIMSOLL_WORKER'

export const workerVariables = (place: WorkerPlace): Record<string, string> => ({ [PLACE]: JSON.stringify(place) })

/** The system takes some 100 bytes for the name of a socket, and cuts off longer ones without a word. */
const LONGEST_FOLDER = 90

/**
 * A folder that only this user gets into. Undefined where none can be made: then workers tell conversations apart in the store. It is not in
 * XDG_RUNTIME_DIR, which is taken away when the user logs out, and cannot be made again; a folder of temporary files can.
 */
export function socketFolder(): string | undefined {
  try {
    const folder = mkdtempSync(join(tmpdir(), 'plimsoll-'))
    if (Buffer.byteLength(folder) <= LONGEST_FOLDER) return folder
    rmSync(folder, { recursive: true })
  } catch {
    // A file system that cannot be written to is no reason not to start.
  }
  return undefined
}

/** What one worker tells the others, through their parent. */
export interface Told {
  readonly plimsollEvents: readonly PlimsollEvent[]
}

/** What one worker has to do with the others of its proxy. */
export interface Workplace {
  /** Undefined where workers cannot reach each other. */
  readonly siblings: Siblings | undefined
  /** The others hear of it a moment later. */
  tell(event: PlimsollEvent): void
  /** Nothing is left to tell. */
  close(): void
}

/** As many events as come within this time are one message: each costs three processes a turn. */
const TELL_MS = 50

/** Undefined in a process that is no worker. `onEvent` hears what the others tell. */
export function workplace(onEvent: (event: PlimsollEvent) => void): Workplace | undefined {
  const { [PLACE]: place } = process.env
  if (!cluster.isWorker || place === undefined) return undefined
  const onMessage = ({ plimsollEvents = [] }: Partial<Told>): void => plimsollEvents.forEach(onEvent)
  process.on('message', onMessage)
  let untold: PlimsollEvent[] = []
  let timer: NodeJS.Timeout | undefined
  const tellAll = (): void => {
    clearTimeout(timer)
    timer = undefined
    const plimsollEvents = untold
    untold = []
    if (plimsollEvents.length === 0 || !process.connected) return
    // A parent that has died hears nothing, which is no trouble of a request.
    process.send?.({ plimsollEvents } satisfies Told, undefined, undefined, () => undefined)
  }
  return {
    siblings: siblingsOf(JSON.parse(place) as WorkerPlace),
    tell(event) {
      untold.push(event)
      timer ??= setTimeout(tellAll, TELL_MS)
    },
    close() {
      tellAll()
      process.off('message', onMessage)
    },
  }
}

function siblingsOf({ number, count, folder }: WorkerPlace): Siblings | undefined {
  if (folder === undefined) return undefined
  return { self: number, count, addressOf: (other) => addressIn(folder, other) }
}

/** Windows has no sockets in folders; its pipes are named by one. */
const addressIn = (folder: string, number: number): string =>
  process.platform === 'win32'
    ? `\\\\.\\pipe\\${folder.replaceAll(/[\\/:]/g, '-')}-${number}`
    : join(folder, `${number}.sock`)

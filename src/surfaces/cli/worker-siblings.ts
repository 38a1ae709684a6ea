import cluster from 'node:cluster'
import { join } from 'node:path'
import type { PlimsollEvent } from '../../core/events.ts'
import { askingOwners, type Ruling } from '../gateway/siblings/registry.ts'
import type { Siblings } from '../gateway/siblings/siblings.ts'

/** Set by the parent for each of its workers. */
export const WORKER_NUMBER = 'PLIMSOLL_WORKER_NUMBER'
export const WORKER_FOLDER = 'PLIMSOLL_WORKER_FOLDER'

/** What processes of one proxy say to each other, through their parent. */
export interface Told {
  readonly plimsollEvents?: readonly PlimsollEvent[]
  readonly plimsollRuling?: Ruling['plimsollRuling']
}

/** What one worker has to do with the others of its proxy. */
export interface WorkerSiblings extends Siblings {
  /** The others hear of it a moment later. */
  tell(event: PlimsollEvent): void
  /** Nothing is left to tell. */
  close(): void
}

/** As many events as come within this time are one message: each costs three processes a turn. */
const TELL_MS = 50

/** Undefined in a process that is no worker. `onEvent` hears what the others tell. */
export function workerSiblings(onEvent: (event: PlimsollEvent) => void): WorkerSiblings | undefined {
  const { [WORKER_NUMBER]: number, [WORKER_FOLDER]: folder } = process.env
  if (!cluster.isWorker || number === undefined || folder === undefined) return undefined
  const self = Number(number)
  // A parent that has died hears nothing, which is no trouble of a request.
  const send = (message: object): boolean => {
    if (!process.connected) return false
    process.send?.(message, undefined, undefined, () => undefined)
    return true
  }
  const owners = askingOwners(self, send)
  const onMessage = (message: Told | Ruling): void => {
    if ('owner' in message) owners.hear(message)
    else message.plimsollEvents?.forEach(onEvent)
  }
  process.on('message', onMessage)
  let untold: PlimsollEvent[] = []
  let timer: NodeJS.Timeout | undefined
  const tellAll = (): void => {
    clearTimeout(timer)
    timer = undefined
    const events = untold
    untold = []
    if (events.length > 0) send({ plimsollEvents: events })
  }
  return {
    self,
    addressOf: (process) => addressIn(folder, process),
    ownerOf: owners.ownerOf,
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

/** Windows has no sockets in folders; its pipes are named by one. */
const addressIn = (folder: string, number: number): string =>
  process.platform === 'win32'
    ? `\\\\.\\pipe\\${folder.replaceAll(/[\\/:]/g, '-')}-${number}`
    : join(folder, `${number}.sock`)

import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { buildConnector, Pool, type Dispatcher } from 'undici'
import { PlimsollError } from '../../core/errors.ts'
import type { ClientAbort } from '../http/client-abort.ts'
import { pump } from '../http/pump.ts'
import { answeredHeaders, handedHeaders } from './handed-headers.ts'
import { INSIDE_HEADERS, isInOwnFolder } from './listen-inside.ts'
import type { Siblings } from './siblings.ts'

export interface HandOver {
  /**
   * Has another process answer. False when that one is not there and this one is about to stop: nothing was said to the client.
   * @throws PlimsollError `upstream` when it does not come back in time, or breaks off
   */
  to(worker: number, request: HandedOver): Promise<boolean>
  close(): Promise<void>
}

export interface HandedOver {
  readonly incoming: IncomingMessage
  readonly body: Uint8Array
  readonly response: ServerResponse
  readonly gone: ClientAbort
}

/** A process that died is replaced within a second or two. */
const LONGEST_WAIT_MS = 5_000
const BETWEEN_MS = 25

/** Between processes of one proxy, with the client's own headers: the other one asks the same of them as this one did. */
export function handOver({ addressOf }: Siblings, isStopping: () => boolean): HandOver {
  const pools = new Map<number, Pool>()
  const poolOf = (worker: number): Pool => {
    const known = pools.get(worker)
    if (known !== undefined) return known
    const made = poolAt(addressOf(worker))
    pools.set(worker, made)
    return made
  }
  return {
    async to(worker, { incoming, body, response, gone }) {
      const asked: Dispatcher.RequestOptions = {
        path: incoming.url ?? '/',
        method: (incoming.method ?? 'POST') as Dispatcher.HttpMethod,
        headers: handedHeaders(incoming),
        body,
        signal: gone,
      }
      const until = performance.now() + LONGEST_WAIT_MS
      while (!gone.aborted) {
        try {
          const given = await poolOf(worker).request(asked)
          response.writeHead(given.statusCode, answeredHeaders(given.headers))
          // Where a piece of the body is here already they leave together.
          if (given.body.readableLength === 0) response.flushHeaders()
          await pump({ taken: [], body: given.body }, response)
          return true
        } catch (error) {
          if (!isNotThere(error)) {
            // The other one notices as well, and says so in its own line.
            if (gone.aborted) return true
            // It may have called the model by then: whether that is called again is for the client to say.
            throw failed(worker, `broke off: ${(error as Error).message}`, error)
          }
          if (isStopping()) return false
          if (performance.now() > until) throw failed(worker, 'cannot be reached', error)
          await delay(BETWEEN_MS)
        }
      }
      throw failed(worker, 'could not be reached before the client left')
    },
    async close() {
      await Promise.all([...pools.values()].map((pool) => pool.close()))
    },
  }
}

function poolAt(path: string): Pool {
  const connect = buildConnector({ socketPath: path })
  // How long an answer may take is for the other one to say. The name is one that every proxy answers to, for clients that send none.
  return new Pool('http://localhost', {
    connect: (options, done) => (isInOwnFolder(path) ? connect(options, done) : done(notThere(path), null)),
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: INSIDE_HEADERS,
  })
}

const notThere = (path: string): Error => Object.assign(new Error(`There is no socket at ${path}.`), { code: 'ENOENT' })

/** Nobody listens there yet, or more want to be heard at once than the system lets wait. */
const isNotThere = (error: unknown): boolean =>
  ['ENOENT', 'ECONNREFUSED', 'EAGAIN'].includes((error as NodeJS.ErrnoException).code ?? '')

const failed = (worker: number, how: string, cause?: unknown): PlimsollError =>
  new PlimsollError('upstream', `Worker ${worker} of this proxy, whose conversation it is, ${how}.`, {
    advice: 'Try again: a worker that died is replaced.',
    retryable: true,
    cause,
  })

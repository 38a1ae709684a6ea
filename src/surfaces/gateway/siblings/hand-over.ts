import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { Pool, type Dispatcher } from 'undici'
import type { ClientAbort } from '../http/client-abort.ts'
import { pump } from '../http/pump.ts'
import { isOfConnection, namedIn } from '../headers.ts'
import type { Siblings } from './siblings.ts'

export interface HandOver {
  /** Has another process answer; false when that one does not come back in time, and nothing was said to the client. */
  to(process: number, request: HandedOver): Promise<boolean>
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
export function handOver({ addressOf }: Siblings): HandOver {
  const pools = new Map<number, Pool>()
  const poolOf = (process: number): Pool => {
    const known = pools.get(process)
    if (known !== undefined) return known
    // How long an answer may take is for the other one to say. The name is one that every proxy answers to, for clients that send none.
    const made = new Pool('http://localhost', { socketPath: addressOf(process), headersTimeout: 0, bodyTimeout: 0 })
    pools.set(process, made)
    return made
  }

  async function answered(
    process: number,
    asked: Dispatcher.RequestOptions,
  ): Promise<Dispatcher.ResponseData | undefined> {
    const until = performance.now() + LONGEST_WAIT_MS
    for (;;) {
      try {
        return await poolOf(process).request(asked)
      } catch (error) {
        // Whatever else went wrong, the other one may have called the model by then: whether it is called again is for the client to say.
        if (!isNotThere(error)) throw error
        if (performance.now() > until) return undefined
        await delay(BETWEEN_MS)
      }
    }
  }

  return {
    async to(process, { incoming, body, response, gone }) {
      const asked: Dispatcher.RequestOptions = {
        path: incoming.url ?? '/',
        method: (incoming.method ?? 'POST') as Dispatcher.HttpMethod,
        headers: headersOf(incoming),
        body,
        signal: gone,
      }
      try {
        const given = await answered(process, asked)
        if (given === undefined) return false
        response.writeHead(given.statusCode, answeredHeaders(given.headers))
        await pump({ taken: [], body: given.body }, response)
      } catch (error) {
        // The other one notices as well, and says so in its own line.
        if (!gone.aborted) throw error
      }
      return true
    },
    async close() {
      await Promise.all([...pools.values()].map((pool) => pool.close()))
    },
  }
}

/** Nobody listens there yet, or more want to be heard at once than the system lets wait. */
const isNotThere = (error: unknown): boolean =>
  ['ENOENT', 'ECONNREFUSED', 'EAGAIN'].includes((error as NodeJS.ErrnoException).code ?? '')

/** Its length comes with the body, and nothing is left to wait for. */
const isOfBody = (name: string): boolean => name === 'content-length' || name === 'expect'

function headersOf({ rawHeaders, headers: { connection } }: IncomingMessage): string[] {
  const headers: string[] = []
  const named = namedIn(connection)
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase()
    if (!isOfConnection(name) && !isOfBody(name) && !named.has(name)) headers.push(name, rawHeaders[i + 1]!)
  }
  return headers
}

/** All that the other one says, in our name as well. */
function answeredHeaders(headers: Dispatcher.ResponseData['headers']): Record<string, string | string[]> {
  const answered: Record<string, string | string[]> = {}
  for (const name of Object.keys(headers)) {
    const value = headers[name]
    if (value !== undefined && !isOfConnection(name)) answered[name] = value
  }
  return answered
}

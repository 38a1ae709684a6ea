import type { IncomingMessage, ServerResponse } from 'node:http'
import { Pool, type Dispatcher } from 'undici'
import type { ClientAbort } from '../http/client-abort.ts'
import { pump } from '../http/pump.ts'
import { isStale } from '../upstream/upstream-call.ts'
import { isOfConnection } from '../headers.ts'
import type { Siblings } from './siblings.ts'

export interface HandOver {
  /** Has another process answer; false when that one cannot be reached, and nothing was said to the client. */
  to(process: number, request: HandedOver): Promise<boolean>
  close(): Promise<void>
}

export interface HandedOver {
  readonly incoming: IncomingMessage
  readonly body: Uint8Array
  readonly response: ServerResponse
  readonly gone: ClientAbort
}

/** Between processes of one proxy, with the client's own headers: the other one asks the same of them as this one did. */
export function handOver({ addressOf }: Siblings): HandOver {
  const pools = new Map<number, Pool>()
  const poolOf = (process: number): Pool => {
    const known = pools.get(process)
    if (known !== undefined) return known
    // How long an answer may take is for the other one to say.
    const made = new Pool('http://plimsoll', { socketPath: addressOf(process), headersTimeout: 0, bodyTimeout: 0 })
    pools.set(process, made)
    return made
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
      const call = (): Promise<Dispatcher.ResponseData> => poolOf(process).request(asked)
      const given = await call()
        .catch((error: unknown) => (isStale(error) && !gone.aborted ? call() : Promise.reject(error)))
        .catch((error: unknown) => (isUnreachable(error) ? undefined : Promise.reject(error)))
      if (given === undefined) return false
      response.writeHead(given.statusCode, answeredHeaders(given.headers))
      await pump({ taken: [], body: given.body }, response)
      return true
    },
    async close() {
      await Promise.all([...pools.values()].map((pool) => pool.close()))
    },
  }
}

/** It is not there. */
const isUnreachable = (error: unknown): boolean =>
  ['ENOENT', 'ECONNREFUSED'].includes((error as NodeJS.ErrnoException).code ?? '')

/** Its length comes with the body, and nothing is left to wait for. */
const isOfBody = (name: string): boolean => name === 'content-length' || name === 'expect'

function headersOf({ rawHeaders }: IncomingMessage): string[] {
  const headers: string[] = []
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase()
    if (!isOfConnection(name) && !isOfBody(name)) headers.push(name, rawHeaders[i + 1]!)
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

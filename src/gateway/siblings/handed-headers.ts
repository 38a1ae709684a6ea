import type { IncomingMessage } from 'node:http'
import type { Dispatcher } from 'undici'
import { isOfConnection } from '../headers.ts'

/**
 * What the client said about its connection. The headers that it names there are not for the upstream, but they tell whose a request is and
 * whether it may pass: the other process has to see them as this one did.
 */
const CLIENT_CONNECTION = 'x-plimsoll-connection'

/** The body is here whole: its length comes with it, and nobody waits to be told that it may come. */
const isSettled = (name: string): boolean => name === 'content-length' || name === 'expect'

/** A client's own headers, for another process of this proxy. */
export function handedHeaders({ rawHeaders, headers: { connection } }: IncomingMessage): string[] {
  const headers = connection === undefined ? [] : [CLIENT_CONNECTION, connection]
  let hasHost = false
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase()
    if (isOfConnection(name) || isSettled(name) || name === CLIENT_CONNECTION) continue
    // Node goes by the first, and undici sends no second one.
    if (name === 'host' && hasHost) continue
    hasHost ||= name === 'host'
    headers.push(name, rawHeaders[i + 1]!)
  }
  return headers
}

/** A request that was handed over, as its client sent it. */
export function asItCame(incoming: IncomingMessage): IncomingMessage {
  const { headers } = incoming
  const connection = headers[CLIENT_CONNECTION]
  if (typeof connection === 'string') headers.connection = connection
  return incoming
}

/** All that the other process says, in our name as well. */
export function answeredHeaders(headers: Dispatcher.ResponseData['headers']): Record<string, string | string[]> {
  const answered: Record<string, string | string[]> = {}
  for (const name of Object.keys(headers)) {
    const value = headers[name]
    if (value !== undefined && !isOfConnection(name)) answered[name] = value
  }
  return answered
}

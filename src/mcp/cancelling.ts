import { randomUUID } from 'node:crypto'
import { recordOf } from '../core/values.ts'
import { BoundedMap } from '../util/bounded-map.ts'

/** By it clients of the protocol's 2025 revisions say which connection a request belongs to. */
export const CONNECTION = 'mcp-session-id'

/** Calls that may be cancelled; those that are over are pushed out by newer ones. */
const MOST_CALLS = 10_000

/**
 * Clients of the 2025 revisions cancel a call by a notice in a request of its own. Each gets a random name for its connection when it begins,
 * so that nobody cancels what is not theirs. Nothing else is kept about a connection: any server may take its next request, and a notice that
 * reaches another one than the call cancels nothing.
 */
export function cancelling() {
  const calls = new BoundedMap<string, AbortController>(MOST_CALLS)
  const keyOf = (connection: string, id: unknown): string => JSON.stringify([connection, id])
  /** `serve` gets the signal that a later notice fires. */
  return async (
    message: unknown,
    connection: string | undefined,
    serve: (cancelled: AbortSignal) => Promise<Response>,
  ): Promise<Response> => {
    const { method, id, params } = recordOf(message) ?? {}
    const call = new AbortController()
    if (connection === undefined) {
      const response = await serve(call.signal)
      return method === 'initialize' && response.ok ? named(response) : response
    }
    if (method === 'notifications/cancelled') {
      const cancelled = keyOf(connection, recordOf(params)?.['requestId'])
      calls.get(cancelled)?.abort(new DOMException('The client cancelled the call.', 'AbortError'))
      calls.delete(cancelled)
    } else if (id !== undefined) calls.set(keyOf(connection, id), call)
    return serve(call.signal)
  }
}

function named({ body, status, headers }: Response): Response {
  const all = new Headers(headers)
  all.set(CONNECTION, randomUUID())
  return new Response(body, { status, headers: all })
}

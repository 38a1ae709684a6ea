import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline, Transform, type Readable, type TransformCallback } from 'node:stream'
import type { Dispatcher } from 'undici'
import { PlimsollError } from '../../core/errors.ts'
import { unpacker } from '../http/encoding.ts'
import type { Upstream, UpstreamAnswer } from '../exchange-types.ts'
import { goesToClient, goesUpstream, namedIn } from '../headers.ts'
import type { HeaderReader } from '../identity.ts'
import { piecesOf } from '../http/pieces.ts'
import { pump } from '../http/pump.ts'
import type { ClientAbort } from '../http/client-abort.ts'
import { upstreamAddress, type ProxyPlace } from './upstreams.ts'

/** The client's own request with changes, sent to a place. */
export function upstreamOf(dispatcher: Dispatcher, incoming: IncomingMessage, gone: ClientAbort): Upstream<Readable> {
  return {
    async send({ place, path, body, headers: changes, foreign }) {
      const { headers: own, base } = place as ProxyPlace
      const { host } = base
      const headers = foreign === true ? {} : forwarded(incoming)
      change(headers, changes)
      change(headers, own)
      const { origin, path: target } = upstreamAddress(place as ProxyPlace, path)
      const content = body.length > 0 ? body : null
      const call = (): Promise<Dispatcher.ResponseData> =>
        dispatcher.request({ origin, path: target, method: 'POST', headers, body: content, signal: gone })
      // A kept connection may be closed at the very moment it is used again; a fresh one tells that from a dead upstream.
      const given = await call().catch((error: unknown) =>
        isStale(error) && !gone.aborted ? call().catch(unreachable(host)) : unreachable(host)(error),
      )
      return answerOf(host, given.statusCode, given.headers, given.body)
    },
  }
}

function change(headers: Record<string, string>, changes: Readonly<Record<string, string | undefined>>): void {
  for (const name of Object.keys(changes)) {
    const value = changes[name]
    if (value === undefined) delete headers[name]
    else headers[name] = value
  }
}

/** Everything that is no model call: streamed both ways, never read. */
export async function passThrough(
  dispatcher: Dispatcher,
  place: ProxyPlace,
  path: string,
  incoming: IncomingMessage,
  response: ServerResponse,
  gone: ClientAbort,
): Promise<void> {
  const length = incoming.headers['content-length']
  const hasBody = length !== undefined || incoming.headers['transfer-encoding'] !== undefined
  const { origin, path: target } = upstreamAddress(place, path)
  const given = await dispatcher
    .request({
      origin,
      path: target,
      method: (incoming.method ?? 'GET') as Dispatcher.HttpMethod,
      headers: { ...forwarded(incoming), ...(length !== undefined && { 'content-length': length }), ...place.headers },
      body: hasBody ? incoming : null,
      signal: gone,
    })
    .catch(unreachable(place.base.host))
  response.writeHead(given.statusCode, clientHeaders(given.headers))
  await pump({ taken: [], body: given.body }, response)
}

const isStale = (error: unknown): boolean =>
  ['EPIPE', 'ECONNRESET', 'UND_ERR_SOCKET'].includes((error as NodeJS.ErrnoException).code ?? '')

const unreachable =
  (host: string) =>
  (cause: unknown): never => {
    const error = cause as NodeJS.ErrnoException
    const late = error.code === 'UND_ERR_HEADERS_TIMEOUT' || error.code === 'UND_ERR_CONNECT_TIMEOUT'
    throw new PlimsollError(
      late ? 'timeout' : 'upstream',
      `The upstream ${host} failed: ${error.code ?? error.message}.`,
      {
        advice: 'Check its address and the network; plimsoll doctor tries both.',
        retryable: true,
        fields: { host },
        cause,
      },
    )
  }

/** An answer with the headers that its client gets. */
export interface SocketAnswer extends UpstreamAnswer<Readable> {
  readonly headers: Dispatcher.ResponseData['headers']
}

function answerOf(host: string, status: number, headers: SocketAnswer['headers'], body: Readable): SocketAnswer {
  const pieces = piecesOf(body)
  return {
    status,
    headers,
    header: (name) => first(headers[name]),
    body,
    taken: pieces.taken,
    peek: (waitMs) => pieces.next(waitMs).catch(unreachable(host)),
    // The abort that comes of it is nobody's trouble.
    discard: () => void body.on('error', () => undefined).destroy(),
    rewritten({ contentType, chunk, end }) {
      const { 'content-encoding': encoding, 'content-length': _length, ...rest } = headers
      const write = new Transform({
        transform: (bytes: Buffer, _encoding, done) => attempt(done, () => chunk(bytes)),
        flush: (done) => attempt(done, end),
      })
      const unpack = unpacker(first(encoding))
      // What somebody looked at already comes first.
      for (const piece of pieces.taken) (unpack ?? write).write(piece)
      // A failure on the way shows where the rewritten stream is read.
      pipeline([body, ...(unpack === undefined ? [] : [unpack]), write], () => undefined)
      return answerOf(host, status, { ...rest, 'content-type': contentType }, write)
    },
  }
}

function attempt(done: TransformCallback, work: () => Uint8Array): void {
  try {
    done(null, work())
  } catch (error) {
    done(error as Error)
  }
}

const first = (value: string | string[] | undefined): string | undefined => (Array.isArray(value) ? value[0] : value)

export const headerReader =
  (incoming: IncomingMessage): HeaderReader =>
  (name) =>
    first(incoming.headers[name])

function forwarded(incoming: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {}
  const connection = namedIn(incoming.headers.connection)
  for (const name of Object.keys(incoming.headers)) {
    const value = incoming.headers[name]
    if (value !== undefined && goesUpstream(name, connection))
      headers[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return headers
}

export function clientHeaders(headers: Dispatcher.ResponseData['headers']): Record<string, string | string[]> {
  const out: Record<string, string | string[]> = {}
  const connection = namedIn(headers['connection'])
  for (const name of Object.keys(headers)) {
    const value = headers[name]
    if (value !== undefined && goesToClient(name, connection)) out[name] = value
  }
  return out
}

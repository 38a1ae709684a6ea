import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline, Transform, type Readable, type TransformCallback } from 'node:stream'
import { type Dispatcher, Agent, EnvHttpProxyAgent } from 'undici'
import { PlimsollError } from '../../core/errors.ts'
import { unpacker } from '../http/encoding.ts'
import type { Transport, UpstreamAnswer } from '../types.ts'
import { goesToClient, goesUpstream, namedIn } from '../headers.ts'
import type { HeaderReader } from '../identity.ts'
import { piecesOf, pump } from '../http/pump.ts'
import { upstreamAddress, type ProxyUpstream } from './upstreams.ts'
import { readFileSync } from 'node:fs'
import { rootCertificates } from 'node:tls'
import { EventEmitter } from 'node:events'

/** The client's own request with changes, sent to a upstream. */
export function transportOf(dispatcher: Dispatcher, incoming: IncomingMessage, gone: ClientAbort): Transport<Readable> {
  return {
    async send({ upstream, path, body, headers: changes, foreign }) {
      const { headers: own, base } = upstream as ProxyUpstream
      const { host } = base
      const headers = foreign === true ? {} : forwarded(incoming)
      change(headers, changes)
      change(headers, own)
      const { origin, path: target } = upstreamAddress(upstream as ProxyUpstream, path)
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
  upstream: ProxyUpstream,
  path: string,
  incoming: IncomingMessage,
  response: ServerResponse,
  gone: ClientAbort,
): Promise<void> {
  const length = incoming.headers['content-length']
  const hasBody = length !== undefined || incoming.headers['transfer-encoding'] !== undefined
  const { origin, path: target } = upstreamAddress(upstream, path)
  const given = await dispatcher
    .request({
      origin,
      path: target,
      method: (incoming.method ?? 'GET') as Dispatcher.HttpMethod,
      headers: {
        ...forwarded(incoming),
        ...(length !== undefined && { 'content-length': length }),
        ...upstream.headers,
      },
      body: hasBody ? incoming : null,
      signal: gone,
    })
    .catch(unreachable(upstream.base.host))
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

export interface ConnectionOptions {
  /** Until an upstream begins to answer. @default 600_000 */
  readonly upstreamTimeoutMs?: number
  /** Silence inside an answer. Models may think for minutes without a byte. @default 600_000 */
  readonly upstreamIdleMs?: number
  /** PEM file with further certificate authorities; NODE_EXTRA_CA_CERTS works as everywhere. */
  readonly caFile?: string
}

const CONNECT_TIMEOUT_MS = 10_000

/** Connections to upstreams: kept alive, through HTTPS_PROXY where that is set and NO_PROXY does not forbid it. */
export function createDispatcher(options: ConnectionOptions): Dispatcher {
  const { upstreamTimeoutMs = 600_000, upstreamIdleMs = 600_000, caFile } = options
  const settings = {
    headersTimeout: upstreamTimeoutMs,
    bodyTimeout: upstreamIdleMs,
    connections: 1_024,
    connect: {
      timeout: CONNECT_TIMEOUT_MS,
      ...(caFile !== undefined && { ca: [...rootCertificates, certificatesIn(caFile)] }),
    },
  }
  const { env } = process
  const proxied = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'].some((name) => (env[name] ?? '') !== '')
  return proxied ? new EnvHttpProxyAgent(settings) : new Agent(settings)
}

function certificatesIn(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new PlimsollError('bad-config', `The certificate file ${file} cannot be read.`, {
      advice: 'Give a PEM file with --ca-file, PLIMSOLL_CA_FILE or caFile.',
      cause,
    })
  }
}

/** Says that a client has left. What `undici` needs of an abort signal, for a fraction of what making and watching one costs. */
export class ClientAbort extends EventEmitter {
  aborted = false

  leave(): void {
    this.aborted = true
    this.emit('abort')
  }
}

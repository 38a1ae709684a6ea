import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex, Readable } from 'node:stream'
import { request as callUpstream, type Dispatcher } from 'undici'
import { isPlimsollError, PlimsollError } from '../../core/errors.ts'
import { errorAnswer, type Answer } from './answer.ts'
import { authorise, needsToken, takeToken } from './access.ts'
import type { Control } from './control.ts'
import { bodyTooLarge } from './encoding.ts'
import type { Reply, TurnReport, Upstream, UpstreamAnswer } from './exchange.ts'
import type { Gateway } from './gateway.ts'
import { goesToClient, goesUpstream } from './headers.ts'
import type { HeaderReader } from './identity.ts'
import { pump } from './pump.ts'
import { isBedrock, routeOf } from './routes.ts'
import type { Sidecar } from './sidecar.ts'
import { createDispatcher, type ConnectionOptions } from './dispatcher.ts'
import { upstreamTable, upstreamUrl, type ProxyPlace, type Upstreams, type UpstreamTable } from './upstreams.ts'

export interface ProxyOptions extends ConnectionOptions {
  /** 0 picks a free one. @default 4141 */
  readonly port?: number
  /** @default '127.0.0.1' */
  readonly host?: string
  /** Base URLs by prefix: `anthropic`, `openai`, `gemini`. Only these are ever called. */
  readonly upstreams: Upstreams
  /** Required from clients, as `x-plimsoll-token` or as `/t/<token>` before the path. Needed on any address but loopback. */
  readonly token?: string
  /** Health, metrics, events and the API. */
  readonly control?: Control
  /** The compressor's contract for other gateways, at the root. */
  readonly sidecar?: Sidecar
  /** How long requests in flight may take to end once `close` is called. @default 30_000 */
  readonly drainMs?: number
  /** How long a client may take to send a whole request. @default 120_000 */
  readonly requestTimeoutMs?: number
  readonly onRequest?: (line: ProxyLine) => void
}

/** One line per request, for `--json` and logs. Never a credential, never a body. */
export interface ProxyLine {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly ms: number
  readonly session?: string
  readonly load?: number
  readonly limit?: number
  readonly epoch?: string
  readonly saved?: number
  readonly recovered?: true
  readonly error?: string
}

export interface Proxy {
  readonly url: string
  /** New upstreams for the requests to come. */
  reload(upstreams: Upstreams): void
  /** Takes no new requests, lets those in flight end, then lets go. */
  close(): Promise<void>
}

interface Deps {
  readonly gateway: Gateway
  readonly options: ProxyOptions
  readonly dispatcher: Dispatcher
  table: UpstreamTable
  draining: boolean
  readonly working: Set<Promise<void>>
}

/** The gateway behind a socket: `node:http` in front, `undici` streams behind. */
export async function startProxy(gateway: Gateway, options: ProxyOptions): Promise<Proxy> {
  const { port = 4141, host = '127.0.0.1', requestTimeoutMs = 120_000 } = options
  needsToken(host, options.token)
  const deps: Deps = {
    gateway,
    options,
    dispatcher: createDispatcher(options),
    table: upstreamTable(options.upstreams),
    draining: false,
    working: new Set(),
  }
  const server = createServer({
    requestTimeout: requestTimeoutMs,
    headersTimeout: Math.min(30_000, requestTimeoutMs),
    // How often Node looks for clients that are too slow; its own 30 s would let them stay much longer.
    connectionsCheckingInterval: Math.min(5_000, Math.ceil(requestTimeoutMs / 4)),
  })
  server.on('request', (incoming, response) => {
    const work = serve(deps, incoming, response).finally(() => deps.working.delete(work))
    deps.working.add(work)
  })
  server.on('upgrade', (_incoming, socket) => refuseUpgrade(socket))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const { port: bound } = server.address() as AddressInfo
  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    deps.draining = true
    options.control?.close()
    await drain(server, options.drainMs ?? 30_000)
    // Answers may be out that are not recorded yet.
    await Promise.all(deps.working)
    await deps.dispatcher.close()
  }
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    reload(upstreams) {
      deps.table = upstreamTable(upstreams)
    },
    close: () => (closing ??= close()),
  }
}

/** Never rejects: whatever happens becomes an answer or a closed connection, and one line. */
async function serve(deps: Deps, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const startedAt = performance.now()
  const method = incoming.method ?? 'GET'
  const { token, path } = takeToken(incoming.url ?? '/', headerReader(incoming))
  let turn: TurnReport | undefined
  let failure: string | undefined
  try {
    const outcome = await route(deps, { method, path, token }, incoming, response)
    turn = outcome.turn
    failure = outcome.error
  } catch (error) {
    failure = isPlimsollError(error) ? error.code : 'upstream'
    fail(response, routeOf(method, path)?.wire, error)
  }
  deps.options.onRequest?.(lineOf(method, path, response, performance.now() - startedAt, turn, failure))
}

interface Asked {
  readonly method: string
  readonly path: string
  readonly token: string | undefined
}

async function route(
  deps: Deps,
  { method, path, token }: Asked,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<Outcome> {
  const { control, sidecar } = deps.options
  const header = headerReader(incoming)
  if (control?.isOpen(path) === true) return done(control.handle(incoming, response, path, { ready: !deps.draining }))
  authorise(deps.options.token, token)
  if (control?.serves(path) === true) return done(control.handle(incoming, response, path, { ready: !deps.draining }))
  if (sidecar?.serves(method, path) === true) {
    const body = await readBody(incoming, deps.gateway.maxBodyBytes)
    return done(send(response, await sidecar.handle({ method, path, header, body })))
  }
  if (isBedrock(path)) {
    throw new PlimsollError('unsupported', 'Bedrock has wires of its own, which this proxy does not speak yet.', {
      advice: 'Use the provider’s own API, or Vertex or Azure, through /anthropic, /openai or /gemini.',
    })
  }
  const meant = deps.table.resolve(path, header)
  if (meant === undefined) {
    const known = deps.table.prefixes.map((name) => `/${name}`).join(', ')
    throw new PlimsollError('not-found', `No upstream for ${JSON.stringify(path.split('?')[0]!.slice(0, 200))}.`, {
      advice: `Known prefixes: ${known}.`,
    })
  }
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  if (deps.gateway.routeOf(method, meant.path) === undefined) {
    await passThrough(deps, meant.places[0]!, { method, path: meant.path, token }, incoming, response, gone.signal)
    return {}
  }
  const body = await readBody(incoming, deps.gateway.maxBodyBytes)
  const reply = await deps.gateway.handle(
    { method, path: meant.path, header, body, places: meant.places },
    upstreamOf(deps, incoming, gone.signal),
  )
  await answer(reply, response)
  const error = reply.kind === 'answer' ? reply.answer.headers['x-plimsoll-error'] : undefined
  return { ...(reply.turn !== undefined && { turn: reply.turn }), ...(error !== undefined && { error }) }
}

interface Outcome {
  readonly turn?: TurnReport
  readonly error?: string
}

const done = (_sent: void): Outcome => ({})

function upstreamOf(deps: Deps, incoming: IncomingMessage, signal: AbortSignal): Upstream<Readable> {
  return {
    async send({ place, path, body, headers: changes }) {
      const { headers: own } = place as ProxyPlace
      const headers: Record<string, string> = {}
      const merged = { ...forwarded(incoming), ...changes, ...own }
      for (const [name, value] of Object.entries(merged)) if (value !== undefined) headers[name] = value
      const call = (): Promise<Dispatcher.ResponseData> =>
        callUpstream(upstreamUrl(place as ProxyPlace, path), {
          method: incoming.method ?? 'POST',
          headers,
          body: body.length > 0 ? body : null,
          dispatcher: deps.dispatcher,
          signal,
        })
      // A kept connection may be closed at the very moment it is used again; a fresh one tells that from a dead upstream.
      const given = await call().catch((error: unknown) =>
        isStale(error) && !signal.aborted ? call().catch(unreachable) : unreachable(error),
      )
      return answerOf(given)
    },
  }
}

/** Everything that is no model call: streamed both ways, never read. */
async function passThrough(
  deps: Deps,
  place: ProxyPlace,
  { method, path }: Asked,
  incoming: IncomingMessage,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  const length = incoming.headers['content-length']
  const hasBody = length !== undefined || incoming.headers['transfer-encoding'] !== undefined
  const given = await callUpstream(upstreamUrl(place, path), {
    method,
    headers: { ...forwarded(incoming), ...(length !== undefined && { 'content-length': length }), ...place.headers },
    body: hasBody ? incoming : null,
    dispatcher: deps.dispatcher,
    signal,
  }).catch(unreachable)
  response.writeHead(given.statusCode, clientHeaders(given.headers))
  await pump(given.body, response)
}

const isStale = (error: unknown): boolean =>
  ['EPIPE', 'ECONNRESET', 'UND_ERR_SOCKET'].includes((error as NodeJS.ErrnoException).code ?? '')

const unreachable = (cause: unknown): never => {
  const error = cause as NodeJS.ErrnoException
  const late = error.code === 'UND_ERR_HEADERS_TIMEOUT' || error.code === 'UND_ERR_CONNECT_TIMEOUT'
  throw new PlimsollError(late ? 'timeout' : 'upstream', `The upstream failed: ${error.code ?? error.message}.`, {
    retryable: true,
    cause,
  })
}

function answerOf({ statusCode, headers, body }: Dispatcher.ResponseData): UpstreamAnswer<Readable> & {
  readonly headers: Dispatcher.ResponseData['headers']
} {
  return {
    status: statusCode,
    headers,
    header: (name) => first(headers[name]),
    body,
    async bytes(limit) {
      const chunks: Buffer[] = []
      let size = 0
      for await (const chunk of body) {
        if (size < limit) chunks.push((chunk as Buffer).subarray(0, limit - size))
        size += (chunk as Buffer).length
      }
      return Buffer.concat(chunks)
    },
    discard: () => void body.destroy(),
  }
}

async function answer(reply: Reply<Readable>, response: ServerResponse): Promise<void> {
  if (reply.kind === 'answer') return send(response, reply.answer)
  const { from, headers: extra, body, tap } = reply
  const headers = { ...clientHeaders((from as ReturnType<typeof answerOf>).headers), ...extra }
  if (body !== undefined) {
    // It was read whole; its length may be less than what the upstream announced.
    delete headers['content-length']
    response.writeHead(from.status, headers).end(body)
    return
  }
  response.writeHead(from.status, headers)
  response.flushHeaders()
  await pump(from.body, response, tap)
}

function send(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, headers).end(body)
}

function fail(response: ServerResponse, wire: string | undefined, cause: unknown): void {
  if (response.headersSent || response.destroyed) {
    response.destroy()
    return
  }
  const error = isPlimsollError(cause)
    ? cause
    : new PlimsollError('upstream', `The request failed inside the proxy: ${(cause as Error).message}`, { cause })
  const status = error.code === 'forbidden' ? 401 : undefined
  // A body that was not read to its end cannot be followed by another request on the same connection.
  if (error.code === 'too-large') response.setHeader('connection', 'close')
  send(response, errorAnswer(wire, error, status))
}

const first = (value: string | string[] | undefined): string | undefined => (Array.isArray(value) ? value[0] : value)

const headerReader =
  (incoming: IncomingMessage): HeaderReader =>
  (name) =>
    first(incoming.headers[name])

function forwarded(incoming: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (value !== undefined && goesUpstream(name)) headers[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return headers
}

function clientHeaders(headers: Dispatcher.ResponseData['headers']): Record<string, string | string[]> {
  const out: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(headers)) if (value !== undefined && goesToClient(name)) out[name] = value
  return out
}

async function readBody(incoming: IncomingMessage, limit: number): Promise<Buffer> {
  if (Number(incoming.headers['content-length'] ?? 0) > limit) throw bodyTooLarge(limit)
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of incoming) {
    size += (chunk as Buffer).length
    if (size > limit) throw bodyTooLarge(limit)
    chunks.push(chunk as Buffer)
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
}

/** Agents that try a WebSocket first fall back to server-sent events when they are told so at once. */
function refuseUpgrade(socket: Duplex): void {
  const body = JSON.stringify({
    error: {
      type: 'unsupported',
      message: 'Plimsoll: WebSockets are not supported; use HTTP with server-sent events.',
    },
  })
  socket.end(
    `HTTP/1.1 426 Upgrade Required\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}

const DRAIN_SWEEP_MS = 25

async function drain(server: Server, drainMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  // A kept-alive connection becomes idle when its last answer is out, which may be after this line.
  const sweep = setInterval(() => server.closeIdleConnections(), DRAIN_SWEEP_MS)
  const timer = setTimeout(() => server.closeAllConnections(), drainMs)
  await closed
  clearInterval(sweep)
  clearTimeout(timer)
}

function lineOf(
  method: string,
  path: string,
  response: ServerResponse,
  ms: number,
  turn: TurnReport | undefined,
  error: string | undefined,
): ProxyLine {
  return {
    method,
    path: path.split('?')[0]!,
    status: response.statusCode,
    ms: Math.round(ms),
    ...(turn !== undefined && {
      session: turn.session,
      load: Math.ceil(turn.prepared.load.count.high),
      limit: turn.prepared.limit.tokens,
      saved: Math.max(0, Math.round(turn.prepared.report.loadOriginal - turn.prepared.report.loadAfter)),
      ...(turn.prepared.epoch !== undefined && { epoch: turn.prepared.epoch }),
      ...(turn.recovered && { recovered: true as const }),
    }),
    ...(error !== undefined && { error }),
  }
}

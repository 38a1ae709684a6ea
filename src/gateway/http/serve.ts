import { once } from 'node:events'
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Dispatcher } from 'undici'
import { isPlimsollError, PlimsollError } from '../../core/errors.ts'
import { admit, answerPreflight, authorise, checkOrigin, headerReader, takeToken, type OriginRules } from '../access.ts'
import { errorAnswer, type Answer } from '../answer.ts'
import { toClient } from './headers.ts'
import type { Audience } from '../operate/audience.ts'
import type { Control } from '../operate/control.ts'
import { bodyTooLarge } from './encoding.ts'
import { bearerIn } from '../identity.ts'
import type { Reply, TurnReport } from '../types.ts'
import { ownUpstream, type Gateway } from '../gateway.ts'
import { routeOf, type Route } from '../../formats/endpoints.ts'
import type { Sidecar } from '../operate/sidecar.ts'
import { passThrough, transportOf, type UpstreamTable } from './upstreams.ts'

/** The page and its API. The server that it runs in checks host, origin and token first. */
export interface Dashboard {
  /** Static files, which contain no data and are served without a token; the page asks for it. */
  isOpen(path: string): boolean
  serves(path: string): boolean
  handle(asked: PageRequest): Promise<void>
}

export interface PageRequest {
  readonly incoming: IncomingMessage
  readonly response: ServerResponse
  readonly path: string
  /** The tenants that the caller may see; not called for open paths. */
  readonly audience: () => Promise<Audience>
}

/** The parts that a request needs. Those that may change while the proxy runs are read for each request. */
export interface ServeDeps {
  readonly gateway: Gateway
  readonly dispatcher: Dispatcher
  readonly table: UpstreamTable
  readonly draining: boolean
  readonly token?: string
  readonly operatorToken?: string
  readonly origins: OriginRules
  readonly control?: Control
  readonly dashboard?: Dashboard
  readonly sidecar?: Sidecar
  readonly onRequest?: (line: ProxyLine) => void
}

/** Never rejects: every outcome is an answer or a closed connection, and one log line. */
export async function serve(deps: ServeDeps, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
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
    fail(response, routeOf(method, path), error)
  }
  if (deps.onRequest === undefined) return
  try {
    deps.onRequest(lineOf(method, path, response, performance.now() - startedAt, turn, failure))
  } catch {
    // The request is over, so an error while writing the log line is ignored.
  }
}

interface Asked {
  readonly method: string
  readonly path: string
  readonly token: string | undefined
}

async function route(
  deps: ServeDeps,
  { method, path, token }: Asked,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<Outcome> {
  const { control, dashboard, sidecar } = deps
  checkHeaders(incoming)
  const header = headerReader(incoming)
  const origin = checkOrigin(deps.origins, header)
  if (origin !== undefined) {
    admit(response, origin)
    if (method === 'OPTIONS') return done(answerPreflight(header, response))
  }
  const asked = { incoming, response, path, token, header, isReady: !deps.draining }
  if (control?.isOpen(path) === true) return done(await control.handle(asked))
  const audience = (): Promise<Audience> => control!.audiences.of(asked)
  if (method === 'GET' && dashboard?.isOpen(path) === true)
    return done(await dashboard.handle({ incoming, response, path, audience }))
  const isForSidecar = sidecar?.serves(method, path) === true
  const given = isForSidecar ? (token ?? sidecar.tokenOf(header)) : token
  const isControl = control?.serves(path) === true
  // The token of the page's address permits the page and its API, but no model calls.
  if (!isControl || !control.audiences.isOperator(token))
    authorise(deps.token, isControl ? (token ?? bearerIn(header)) : given, deps.operatorToken)
  if (dashboard?.serves(path) === true) return done(await dashboard.handle({ incoming, response, path, audience }))
  if (isControl) return done(await control.handle(asked))
  if (isForSidecar) {
    // Artifacts of one client must not be readable by another that sends no credential.
    if (sidecar.isReading(path)) await control?.audiences.of({ header, path, token: given })
    const body = await readBody(incoming, deps.gateway.maxBodyBytes)
    return done(send(response, await sidecar.handle({ method, path, header, body })))
  }
  const meant = deps.table.resolve(path, header)
  if (meant === undefined) {
    const known = deps.table.prefixes.map((name) => `/${name}`).join(', ')
    throw new PlimsollError('not-found', `No upstream for ${JSON.stringify(withoutKeys(path).slice(0, 200))}.`, {
      advice: `Known prefixes: ${known}.`,
    })
  }
  const gone = new AbortController()
  // An abort creates a stack trace, so it is only made for a client that really disconnected.
  response.once('close', () => {
    if (!response.writableFinished) gone.abort()
  })
  if (deps.gateway.routeOf(method, meant.path) === undefined) {
    const upstream = ownUpstream(meant.upstreams, undefined)
    const whole = upstream.signer === undefined ? undefined : await readBody(incoming, deps.gateway.maxBodyBytes)
    const passed = await passThrough(deps.dispatcher, upstream, meant.path, incoming, gone.signal, whole)
    const { status, headers, body } = passed
    await relay({ status, headers: toClient(headers), body }, response)
    return {}
  }
  const body = await readBody(incoming, deps.gateway.maxBodyBytes)
  const request = { method, path: meant.path, header, body, upstreams: meant.upstreams }
  const reply = await deps.gateway.handle(request, transportOf(deps.dispatcher, incoming, gone.signal))
  try {
    await relay(reply, response)
  } finally {
    await reply.settled?.()
  }
  const error = reply.headers['x-plimsoll-error']
  return { turn: reply.turn, error: typeof error === 'string' ? error : undefined }
}

const MOST_HEADERS = 1_000

function checkHeaders({ rawHeaders }: IncomingMessage): void {
  const headers = rawHeaders.length / 2
  if (headers <= MOST_HEADERS) return
  throw new PlimsollError('too-large', `The request has ${headers} headers; ${MOST_HEADERS} are the most.`, {
    advice: 'Send fewer.',
    fields: { headers, most: MOST_HEADERS, status: 431 },
  })
}

interface Outcome {
  readonly turn?: TurnReport
  readonly error?: string
}

const done = (_sent: void): Outcome => ({})

/** Sends an answer to the client at its reading speed. Rejects if the upstream breaks off; resolves if the client disconnects. */
async function relay({ status, headers, body }: Reply, response: ServerResponse): Promise<void> {
  if (typeof body === 'string' || body instanceof Uint8Array) {
    response.writeHead(status, { ...headers, 'content-length': String(Buffer.byteLength(body)) } as OutgoingHttpHeaders)
    response.end(body)
    return
  }
  response.writeHead(status, headers as OutgoingHttpHeaders).flushHeaders()
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  try {
    for await (const bytes of body) {
      if (response.destroyed) return
      if (bytes.length > 0 && !response.write(bytes)) await once(response, 'drain', { signal: gone.signal })
    }
  } catch (error) {
    if (response.destroyed) return
    throw error
  }
  response.end()
}

function send(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, headers).end(body)
}

function fail(response: ServerResponse, route: Route | undefined, cause: unknown): void {
  if (response.headersSent || response.destroyed) {
    response.destroy()
    return
  }
  const error = isPlimsollError(cause)
    ? cause
    : new PlimsollError('upstream', `The request failed inside the proxy: ${(cause as Error).message}`, { cause })
  const { status } = error.fields
  // After a body that was not read to its end, the connection cannot be reused.
  if (error.code === 'too-large' || error.code === 'forbidden') response.setHeader('connection', 'close')
  send(response, errorAnswer(route?.speaks, error, typeof status === 'number' ? status : undefined))
}

async function readBody(incoming: IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  if (Number(incoming.headers['content-length'] ?? 0) > limit) throw bodyTooLarge(limit)
  let size = 0
  try {
    for await (const chunk of incoming.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > limit) throw bodyTooLarge(limit)
      chunks.push(chunk)
    }
  } catch (cause) {
    if (isPlimsollError(cause)) throw cause
    throw new PlimsollError('bad-input', 'The client disconnected before its request was complete.', { cause })
  }
  return Buffer.concat(chunks, size)
}

/** Agents that try a WebSocket first fall back to server-sent events if it is refused at once. */
export function refuseUpgrade(socket: Duplex): void {
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

/** The path of what is no model call. Some clients put a key into it, and every key is longer than what a path usually names. */
const withoutKeys = (path: string): string => path.split('?')[0]!.replace(/[^/]{24,}/g, '…')

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
    path: turn === undefined ? withoutKeys(path) : path.split('?')[0]!,
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
    error,
  }
}

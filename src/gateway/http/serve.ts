import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex, Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { isPlimsollError, PlimsollError } from '../../core/errors.ts'
import { authorise, takeToken } from '../access.ts'
import { errorAnswer, type Answer } from '../answer.ts'
import type { Audience } from '../operate/audience.ts'
import type { Control } from '../operate/control.ts'
import type { Dashboard } from '../../dashboard/dashboard.ts'
import { bodyTooLarge } from './encoding.ts'
import { admit, answerPreflight, checkOrigin, type OriginRules } from './other-origins.ts'
import { bearerIn } from '../identity.ts'
import type { Reply, TurnReport } from '../types.ts'
import type { Gateway } from '../gateway.ts'
import { pump } from './pump.ts'
import { refuseUnspoken, routeOf, type Route } from '../../formats/endpoints.ts'
import type { Sidecar } from '../operate/sidecar.ts'
import {
  ClientAbort,
  clientHeaders,
  headerReader,
  passThrough,
  type SocketAnswer,
  transportOf,
} from '../upstream/upstream-call.ts'
import { type UpstreamTable, ownUpstream } from '../upstream/upstreams.ts'
import { wireOf } from '../../formats/registry.ts'

/** What a request needs; the parts that may change while the proxy runs are read when a request comes in. */
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

/** Never rejects: whatever happens becomes an answer or a closed connection, and one line. */
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
  const line = lineOf(method, path, response, performance.now() - startedAt, turn, failure)
  try {
    deps.onRequest?.(line)
  } catch {
    // A log that cannot be written is no trouble of the request, which is over.
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
  // The token of the page's address opens the page and what it reads, and no model call.
  if (!isControl || !control.audiences.isOperator(token))
    authorise(deps.token, isControl ? (token ?? bearerIn(header)) : given, deps.operatorToken)
  if (dashboard?.serves(path) === true) return done(await dashboard.handle({ incoming, response, path, audience }))
  if (isControl) return done(await control.handle(asked))
  if (isForSidecar) {
    // What is kept for one client is not read by another who sends nothing to be told apart by.
    if (sidecar.isReading(path)) await control?.audiences.of({ header, path, token: given })
    const body = await readBody(incoming, deps.gateway.maxBodyBytes)
    return done(send(response, await sidecar.handle({ method, path, header, body })))
  }
  refuseUnspoken(path, deps.table.prefixes)
  const meant = deps.table.resolve(path, header)
  if (meant === undefined) {
    const known = deps.table.prefixes.map((name) => `/${name}`).join(', ')
    throw new PlimsollError('not-found', `No upstream for ${JSON.stringify(path.split('?')[0]!.slice(0, 200))}.`, {
      advice: `Known prefixes: ${known}.`,
    })
  }
  const gone = new ClientAbort()
  // An abort costs a stack trace, so only a client that really left gets one.
  response.once('close', () => {
    if (!response.writableFinished) gone.leave()
  })
  if (deps.gateway.routeOf(method, meant.path) === undefined) {
    const upstream = ownUpstream(meant.upstreams, undefined)
    await passThrough(deps.dispatcher, upstream, meant.path, incoming, response, gone)
    return {}
  }
  const body = await readBody(incoming, deps.gateway.maxBodyBytes)
  const request = { method, path: meant.path, header, body, upstreams: meant.upstreams }
  const reply = await deps.gateway.handle(request, transportOf(deps.dispatcher, incoming, gone))
  await answer(reply, response)
  if (reply.kind === 'relay') await reply.settled
  const error = reply.kind === 'answer' ? reply.answer.headers['x-plimsoll-error'] : undefined
  return { turn: reply.turn, error }
}

interface Outcome {
  readonly turn?: TurnReport
  readonly error?: string
}

const done = (_sent: void): Outcome => ({})

async function answer(reply: Reply<Readable>, response: ServerResponse): Promise<void> {
  if (reply.kind === 'answer') return send(response, reply.answer)
  const { from, headers: extra, body, tap } = reply
  const headers = Object.assign(clientHeaders((from as SocketAnswer).headers), extra)
  if (body !== undefined) {
    // It was read whole; its length may be less than what the upstream announced.
    headers['content-length'] = String(body.length)
    response.writeHead(from.status, headers).end(body)
    return
  }
  if (tap?.rewrites === true) delete headers['content-length']
  response.writeHead(from.status, headers)
  // Where a piece of the body is here already they leave together.
  if (from.taken.length === 0) response.flushHeaders()
  await pump(from, response, tap)
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
  // A body that was not read to its end cannot be followed by another request on the same connection.
  if (error.code === 'too-large' || error.code === 'forbidden') response.setHeader('connection', 'close')
  send(response, errorAnswer(route && wireOf(route.wire), error, typeof status === 'number' ? status : undefined))
}

/** By events: an iterator takes several turns of the microtask queue for each piece. */
function readBody(incoming: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const announced = Number(incoming.headers['content-length'] ?? 0)
    if (announced > limit) return reject(bodyTooLarge(limit))
    const body = arrivingBody(announced)
    incoming.on('data', (chunk: Buffer) => {
      if (body.add(chunk) <= limit) return
      incoming.pause().removeAllListeners('data')
      reject(bodyTooLarge(limit))
    })
    // Every request closes, and an error that nobody gets to see would cost a stack trace each time.
    const onClose = (): void =>
      reject(new PlimsollError('bad-input', 'The client disconnected before its request was complete.'))
    incoming.once('end', () => {
      incoming.off('close', onClose)
      resolve(body.whole())
    })
    incoming.once('error', reject)
    incoming.once('close', onClose)
  })
}

/** Agents that try a WebSocket first fall back to server-sent events when they are told so at once. */
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

/** A body while it arrives. */
interface ArrivingBody {
  /** Gives the bytes so far. */
  add(chunk: Buffer): number
  whole(): Buffer
}

/** Who announces more gets no room ahead: announcing costs nothing. */
const MOST_AHEAD = 4 * 1024 * 1024

/**
 * The pieces of a body of a known length are copied to where they belong as they come, so that each of them is garbage at once. Kept until
 * the last has come, those of many bodies at a time outlive two collections of young memory; then only one of all memory frees them, and
 * V8 starts such a one for every 64 MB of them.
 */
function arrivingBody(announced: number): ArrivingBody {
  const chunks: Buffer[] = []
  let room: Buffer | undefined
  let size = 0
  return {
    add(chunk) {
      if (room === undefined && size === 0 && chunk.length < announced && announced <= MOST_AHEAD)
        room = Buffer.allocUnsafeSlow(announced)
      if (room === undefined) chunks.push(chunk)
      else room.set(chunk, size)
      size += chunk.length
      return size
    },
    whole() {
      if (room !== undefined) return room.subarray(0, size)
      return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size)
    },
  }
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
    error,
  }
}

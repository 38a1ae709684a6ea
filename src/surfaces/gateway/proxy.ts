import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { Transform } from 'node:stream'
import { Agent, request as upstreamRequest } from 'undici'
import type { Gateway } from './gateway.ts'

export interface ProxyOptions {
  /** 0 picks a free one. @default 4141 */
  readonly port?: number
  /** @default '127.0.0.1' */
  readonly host?: string
  /** Base URLs by prefix: `anthropic`, `openai`, `gemini`. Only these are ever called. */
  readonly upstreams: Readonly<Record<string, string>>
  /** @default 64 MiB */
  readonly maxBodyBytes?: number
  readonly onRequest?: (line: ProxyLine) => void
}

/** One line per request, for `--json` and logs. Never a credential, never a body. */
export interface ProxyLine {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly ms: number
  readonly load?: number
  readonly limit?: number
  readonly epoch?: string
}

export interface Proxy {
  readonly url: string
  close(): Promise<void>
}

/** Headers that belong to one connection and are never passed on. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'host',
  'content-length',
  'expect',
])

/** The gateway behind a socket: `node:http` in front, `undici` streams behind. */
export async function startProxy(gateway: Gateway, options: ProxyOptions): Promise<Proxy> {
  const { port = 4141, host = '127.0.0.1' } = options
  const agent = new Agent({ bodyTimeout: 0, headersTimeout: 600_000, connections: 256 })
  const server = createServer((incoming, response) => {
    serve(gateway, options, agent, incoming, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy(error as Error)
      else
        sendJson(response, 502, {
          error: { type: 'upstream', message: `Plimsoll: the upstream failed: ${(error as Error).message}` },
        })
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const { port: bound } = server.address() as AddressInfo
  return { url: `http://${host}:${bound}`, close: () => closeServer(server, agent) }
}

async function serve(
  gateway: Gateway,
  options: ProxyOptions,
  agent: Agent,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const startedAt = Date.now()
  const path = incoming.url ?? '/'
  if (path === '/healthz') return sendJson(response, 200, { ok: true })
  const upstream = upstreamFor(path, options.upstreams)
  if (upstream === undefined) {
    return sendJson(response, 404, {
      error: {
        type: 'not-found',
        message: `Plimsoll: no upstream for ${path.split('?')[0]}. Known prefixes: ${Object.keys(options.upstreams)
          .map((name) => `/${name}`)
          .join(', ')}.`,
      },
    })
  }
  const body = await readBody(incoming, options.maxBodyBytes ?? 64 * 1024 * 1024)
  if (body === undefined)
    return sendJson(response, 413, {
      error: { type: 'request_too_large', message: 'Plimsoll: the body is larger than this proxy accepts.' },
    })
  const method = incoming.method ?? 'GET'
  const outgoing = await gateway.accept({
    method,
    path: upstream.path,
    header: (name) => headerOf(incoming, name),
    body,
    endpoint: new URL(upstream.base).origin,
  })
  if (outgoing.kind === 'answer') {
    response.writeHead(outgoing.answer.status, outgoing.answer.headers).end(outgoing.answer.body)
    return
  }
  const abort = new AbortController()
  response.once('close', () => abort.abort())
  const sent = outgoing.kind === 'pass' ? body : Buffer.from(outgoing.body)
  const answer = await upstreamRequest(joinUrl(upstream.base, upstream.path), {
    method: method as 'POST',
    headers: forwardedHeaders(incoming),
    body: sent.length > 0 ? sent : null,
    dispatcher: agent,
    signal: abort.signal,
  })
  const extra = outgoing.kind === 'forward' ? outgoing.headers : {}
  response.writeHead(answer.statusCode, { ...answerHeaders(answer.headers), ...extra })
  const observer =
    outgoing.kind === 'forward'
      ? outgoing.turn.observe(answer.statusCode, String(answer.headers['content-type'] ?? ''))
      : undefined
  try {
    const watch = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        observer?.chunk(chunk)
        done(null, chunk)
      },
    })
    await pipeline(answer.body, watch, response)
  } finally {
    await observer?.end()
    options.onRequest?.({
      method,
      path: upstream.path.split('?')[0]!,
      status: answer.statusCode,
      ms: Date.now() - startedAt,
      ...(outgoing.kind === 'forward' && {
        load: Math.ceil(outgoing.turn.prepared.load.count.high),
        limit: outgoing.turn.prepared.limit.tokens,
      }),
      ...(outgoing.kind === 'forward' &&
        outgoing.turn.prepared.epoch !== undefined && { epoch: outgoing.turn.prepared.epoch }),
    })
  }
}

function upstreamFor(
  path: string,
  upstreams: Readonly<Record<string, string>>,
): { base: string; path: string } | undefined {
  for (const [name, base] of Object.entries(upstreams)) {
    if (path === `/${name}` || path.startsWith(`/${name}/`)) return { base, path: path.slice(name.length + 1) || '/' }
  }
  return undefined
}

function joinUrl(base: string, path: string): string {
  return base.replace(/\/+$/, '') + path
}

const headerOf = (incoming: IncomingMessage, name: string): string | undefined => {
  const value = incoming.headers[name]
  return Array.isArray(value) ? value[0] : value
}

function forwardedHeaders(incoming: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (value === undefined || HOP_BY_HOP.has(name) || name.startsWith('x-plimsoll-')) continue
    headers[name] = Array.isArray(value) ? value.join(', ') : value
  }
  // The observer reads the answer as it passes; a compressed one would have to be decoded twice.
  headers['accept-encoding'] = 'identity'
  return headers
}

function answerHeaders(headers: Record<string, string | string[] | undefined>): Record<string, string | string[]> {
  const out: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !['connection', 'keep-alive', 'transfer-encoding'].includes(name)) out[name] = value
  }
  return out
}

async function readBody(incoming: IncomingMessage, limit: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of incoming) {
    size += (chunk as Buffer).length
    if (size > limit) return undefined
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks)
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

async function closeServer(server: Server, agent: Agent): Promise<void> {
  server.closeIdleConnections()
  await new Promise<void>((resolve) => server.close(() => resolve()))
  await agent.close()
}

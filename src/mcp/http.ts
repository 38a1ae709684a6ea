import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream as WebStream } from 'node:stream/web'
import type { AddressInfo } from 'node:net'
import { isPlimsollError, PlimsollError } from '../core/errors.ts'
import { parsedJson, recordOf } from '../core/values.ts'
import type { Plimsoll } from '../plimsoll.ts'
import {
  admit,
  answerPreflight,
  authorise,
  checkOrigin,
  headerReader,
  isLoopback,
  needsToken,
  takeToken,
  unauthorised,
} from '../gateway/access.ts'
import { bearerIn, LOCAL_TENANT, type HeaderReader } from '../gateway/identity.ts'
import { statusOf } from '../gateway/answer.ts'
import { checkArguments, type Argument } from '../settings/check.ts'
import { either, group, list, number, oneOf, text, type Schema } from '../settings/values.ts'
import { BoundedMap } from '../util/bounded-map.ts'
import { mcpServer, loadSdk } from './server.ts'
import { PLIMSOLL, reachOf, SCOPE, type McpScope } from './scope.ts'

/** A Node request as a fetch `Request`; its signal fires when the client disconnects before the answer is sent. */
function requestOf(incoming: IncomingMessage, response: ServerResponse, path: string): Request {
  const headers = new Headers()
  for (const [name, value] of Object.entries(incoming.headers))
    for (const each of Array.isArray(value) ? value : [value ?? '']) headers.append(name, each)
  const left = new AbortController()
  response.once('close', () => {
    if (!response.writableFinished) left.abort(new DOMException('The client closed the connection.', 'AbortError'))
  })
  const method = incoming.method ?? 'GET'
  const body =
    method === 'GET' || method === 'HEAD'
      ? {}
      : { body: Readable.toWeb(incoming) as ReadableStream, duplex: 'half' as const }
  return new Request(new URL(path, 'http://mcp'), { method, headers, signal: left.signal, ...body })
}

/** Sends a response as fast as the client reads it. */
async function sendResponse(response: ServerResponse, { status, headers, body }: Response): Promise<void> {
  response.writeHead(status, Object.fromEntries(headers))
  if (body === null) return void response.end()
  response.flushHeaders()
  // A client that disconnects ends both streams.
  await pipeline(Readable.fromWeb(body as WebStream), response).catch(() => undefined)
}

export interface McpHttpOptions {
  /** Port to listen on; 0 picks a free one. @default 4143 */
  readonly port?: number
  /** @default '127.0.0.1' */
  readonly host?: string
  /** Token of clients: `Authorization: Bearer`, `x-plimsoll-token` or `/t/<token>` before the path. Required on any address but loopback. */
  readonly token?: string
  /** Additional host names that a server on loopback answers to. */
  readonly allowedHosts?: readonly string[]
  /** Origins of web pages that may call the server. @default none */
  readonly allowedOrigins?: readonly string[]
  /**
   * One scope for all clients; or `credential`: each client sends its own API key, as to the proxy, and sees the content of that key, or one
   * conversation of it that it names as `x-plimsoll-session`. @default one scope: the tenant 'local'
   */
  readonly scope?: McpScope | 'credential'
}

export interface HttpMcp {
  /** The URL for clients; it ends in `/mcp`. */
  readonly url: string
  close(): Promise<void>
}

const ARGUMENTS: readonly Argument[] = [
  PLIMSOLL,
  {
    name: 'the options',
    optional: true,
    schema: group('', {
      port: number('', 'count', { words: 'a port', max: 65_535 }),
      host: text(),
      token: text(),
      allowedHosts: list('', text()),
      allowedOrigins: list('', text()),
      scope: either("'credential' or a scope", oneOf('', ['credential']), SCOPE),
    } satisfies Record<keyof McpHttpOptions, Schema>),
  },
]

const PATH = '/mcp'
/** By it clients of the protocol's 2025 revisions say which connection a request belongs to. */
const CONNECTION = 'mcp-session-id'
/** Calls that may be cancelled; those that are over are pushed out by newer ones. */
const MOST_CALLS = 10_000

/** Streamable HTTP without state between requests, so that several servers can share the work. */
export async function startMcpHttp(plimsoll: Plimsoll, options: McpHttpOptions = {}): Promise<HttpMcp> {
  checkArguments([plimsoll, options], ARGUMENTS, 'startMcpHttp()')
  const { port = 4143, host = '127.0.0.1', token } = options
  needsToken(host, token)
  const sdk = await loadSdk()
  const handler = sdk.createMcpHandler(({ authInfo }) =>
    mcpServer(sdk, reachOf(plimsoll, (authInfo?.extra?.['scope'] as McpScope | undefined) ?? {})),
  )
  const calls = new BoundedMap<string, AbortController>(MOST_CALLS)
  const deps: Deps = {
    plimsoll,
    options,
    origins: {
      isLocal: isLoopback(host),
      allowedHosts: options.allowedHosts ?? [],
      allowedOrigins: options.allowedOrigins ?? [],
    },
    async serve(request, scope) {
      // The SDK hands on what it knows of the client's login: that is how a scope reaches the server of one request.
      const authInfo = { token: '', clientId: '', scopes: [], extra: { scope } }
      if (request.method !== 'POST') return handler.fetch(request, { authInfo })
      const read = await sdk.readRequestBody(request)
      if (read.tooLarge) throw new PlimsollError('too-large', 'The request is larger than the MCP server takes.')
      // Clients of the 2025 revisions cancel a call by a notice in a request of its own. The random name of its connection keeps a client from
      // cancelling another's call. A notice that reaches another server than the call cancels nothing.
      const { method, id, params } = recordOf(parsedJson(read.text)) ?? {}
      const { url, headers, signal } = request
      const call = new AbortController()
      const connection = headers.get(CONNECTION)
      const keyOf = (asked: unknown): string => JSON.stringify([connection, asked])
      if (connection !== null && method === 'notifications/cancelled')
        calls.get(keyOf(recordOf(params)?.['requestId']))?.abort()
      else if (connection !== null && id !== undefined) calls.set(keyOf(id), call)
      const stopped = AbortSignal.any([signal, call.signal])
      const known = new Request(url, { method: 'POST', headers, body: read.text, signal: stopped })
      const response = await handler.fetch(known, { authInfo })
      if (method === 'initialize' && response.ok) response.headers.set(CONNECTION, randomUUID())
      return response
    },
  }
  const server = createServer((incoming, response) => void answer(deps, incoming, response))
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new PlimsollError('bad-config', `The MCP server cannot listen on ${host}:${port}: ${cause.message}.`, {
          cause,
        }),
      ),
    )
    server.listen(port, host, resolve)
  })
  const { port: bound } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}${PATH}`,
    async close() {
      await handler.close()
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

interface Deps {
  readonly plimsoll: Plimsoll
  readonly options: McpHttpOptions
  readonly origins: Parameters<typeof checkOrigin>[0]
  readonly serve: (request: Request, scope: McpScope) => Promise<Response>
}

async function answer(deps: Deps, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const header = headerReader(incoming)
  const { token, path } = takeToken(incoming.url ?? '/', header)
  try {
    const origin = checkOrigin(deps.origins, header)
    if (origin !== undefined) {
      admit(response, origin)
      if (incoming.method === 'OPTIONS') return answerPreflight(header, response)
    }
    const [pathname] = path.split('?')
    if (pathname === '/healthz') return say(response, 200, { ok: true })
    if (pathname !== PATH)
      throw new PlimsollError('not-found', `There is nothing at this path; the MCP server is at ${PATH}.`)
    const { options } = deps
    const byCredential = options.scope === 'credential'
    // With `credential`, the bearer token is the client's API key and not our token.
    authorise(options.token, token ?? (byCredential ? undefined : bearerIn(header)))
    const scope = byCredential ? await scopeOfCredential(deps, header, path) : (options.scope as McpScope | undefined)
    await sendResponse(response, await deps.serve(requestOf(incoming, response, path), scope ?? {}))
  } catch (error) {
    if (response.headersSent || response.destroyed) return void response.destroy()
    const known = isPlimsollError(error)
    const status = known ? ((error.fields['status'] as number | undefined) ?? statusOf(error)) : 500
    // The body may not have been read, so the connection cannot be used again.
    response.setHeader('connection', 'close')
    const message = known ? error.message : 'The request failed inside the MCP server.'
    say(response, status, { error: { type: known ? error.code : 'internal', message } })
  }
}

/** The scope of the client's API key: the same tenant as in the proxy. */
async function scopeOfCredential({ plimsoll }: Deps, header: HeaderReader, path: string): Promise<McpScope> {
  const tenant = await plimsoll.gateway.tenantOf(header, path)
  if (tenant === LOCAL_TENANT)
    throw unauthorised(
      'This server needs your API key, because each client sees only its own content.',
      'Send the key that your model calls use, in the same header.',
    )
  const [session, agent] = [header('x-plimsoll-session'), header('x-plimsoll-agent')]
  return { tenant, session: session || undefined, agent: agent || undefined }
}

function say(response: ServerResponse, status: number, body: object): void {
  response
    .writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    .end(JSON.stringify(body))
}

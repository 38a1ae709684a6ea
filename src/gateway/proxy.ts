import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { checkArguments, type Argument, type GivenShape } from '../core/given.ts'
import { PlimsollError } from '../core/errors.ts'
import { isLoopback, needsToken } from './access.ts'
import type { Dashboard } from '../dashboard/dashboard.ts'
import type { Control } from './operate/control.ts'
import { createDispatcher, type ConnectionOptions } from './upstream/dispatcher.ts'
import type { Gateway } from './gateway.ts'
import type { ProxyLine } from './operate/proxy-line.ts'
import { drainable } from './http/drainable.ts'
import { refuseUpgrade, serve, type ServeDeps } from './http/serve.ts'
import type { Sidecar } from './operate/sidecar.ts'
import type { UpstreamConfig, Upstreams } from '../settings/upstreams.ts'
import { upstreamTable } from './upstream/upstreams.ts'

export type { ProxyLine } from './operate/proxy-line.ts'

export interface ProxyOptions extends ConnectionOptions {
  /** 0 picks a free one. @default 4141 */
  readonly port?: number
  /** @default '127.0.0.1' */
  readonly host?: string
  /** Base URLs by prefix: `anthropic`, `openai`, `gemini`. Only these are ever called. */
  readonly upstreams: Upstreams
  /** Required from clients, as `x-plimsoll-token` or as `/t/<token>` before the path. Needed on any address but loopback. */
  readonly token?: string
  /** Sees everything on the control routes. With it, others see only what is their own. */
  readonly operatorToken?: string
  /** Names beside the loopback ones that a proxy on loopback is called by, e.g. behind a reverse proxy. */
  readonly allowedHosts?: readonly string[]
  /** Origins of web pages that may call the proxy: `https://chat.example`. @default none */
  readonly allowedOrigins?: readonly string[]
  /** Health, metrics, events and the API. */
  readonly control?: Control
  /** The page at `/`; needs `control`, which knows who may see what. */
  readonly dashboard?: Dashboard
  /** The compressor's contract for other gateways, at the root. */
  readonly sidecar?: Sidecar
  /** How long requests in flight may take to end once `close` is called. @default 30_000 */
  readonly drainMs?: number
  /** How long a client may take to send a whole request. @default 120_000 */
  readonly requestTimeoutMs?: number
  readonly onRequest?: (line: ProxyLine) => void
}

const TEXT: GivenShape = { kind: 'text' }
const TEXTS: GivenShape = { kind: 'list', of: TEXT }
const MILLISECONDS: GivenShape = { kind: 'number', words: 'a number of milliseconds', min: 0, whole: false }

const ANY: GivenShape = { kind: 'any' }
const UPSTREAM: GivenShape = {
  kind: 'either',
  words: 'a URL or { url, model, window, wire, headers }',
  of: [
    TEXT,
    {
      kind: 'object',
      required: ['url'],
      fields: {
        url: TEXT,
        model: TEXT,
        window: { kind: 'number', words: 'a number of tokens like 128_000', min: 1 },
        wire: TEXT,
        headers: { kind: 'map', of: TEXT },
      } satisfies Record<keyof UpstreamConfig, GivenShape>,
    },
  ],
}

const ARGUMENTS: readonly Argument[] = [
  { name: 'gateway', shape: { kind: 'driver', methods: ['handle', 'routeOf'], words: 'the gateway of a Plimsoll' } },
  {
    name: 'the options',
    shape: {
      kind: 'object',
      required: ['upstreams'],
      fields: {
        port: { kind: 'number', words: 'a port from 0, which picks one, to 65535', min: 0, max: 65_535 },
        host: TEXT,
        upstreams: {
          kind: 'map',
          of: {
            kind: 'either',
            words: 'an upstream or a list of them',
            of: [{ kind: 'list', of: UPSTREAM }, UPSTREAM],
          },
        },
        upstreamTimeoutMs: MILLISECONDS,
        upstreamIdleMs: MILLISECONDS,
        caFile: TEXT,
        control: ANY,
        dashboard: ANY,
        sidecar: ANY,
        token: TEXT,
        operatorToken: TEXT,
        allowedHosts: TEXTS,
        allowedOrigins: TEXTS,
        drainMs: MILLISECONDS,
        requestTimeoutMs: MILLISECONDS,
        onRequest: { kind: 'function' },
      } satisfies Record<keyof ProxyOptions, GivenShape>,
    },
  },
]

export interface Proxy {
  readonly url: string
  /** New upstreams and ways to reach them, for the requests to come. */
  reload(options: ConnectionOptions & { readonly upstreams: Upstreams }): void
  /** Takes no new requests, lets those in flight end, then lets go. Rejects with `timeout` when some had to be cut off. */
  close(): Promise<void>
}

/** The gateway behind a socket: `node:http` in front, `undici` streams behind. */
export async function startProxy(gateway: Gateway, options: ProxyOptions): Promise<Proxy> {
  checkArguments([gateway, options], ARGUMENTS, 'startProxy()', 'bad-config')
  const { port = 4141, host = '127.0.0.1', requestTimeoutMs = 120_000 } = options
  needsToken(host, options.token)
  const working = new Set<Promise<void>>()
  let [table, draining] = [upstreamTable(options.upstreams), false]
  let dispatcher = createDispatcher(options)
  const {
    token,
    operatorToken,
    control,
    dashboard,
    sidecar,
    onRequest,
    allowedHosts = [],
    allowedOrigins = [],
  } = options
  const deps: ServeDeps = {
    gateway,
    origins: { isLocal: isLoopback(host), allowedHosts, allowedOrigins },
    get dispatcher() {
      return dispatcher
    },
    get table() {
      return table
    },
    get draining() {
      return draining
    },
    ...(token !== undefined && { token }),
    ...(operatorToken !== undefined && { operatorToken }),
    ...(control !== undefined && { control }),
    ...(control !== undefined && dashboard !== undefined && { dashboard }),
    ...(sidecar !== undefined && { sidecar }),
    ...(onRequest !== undefined && { onRequest }),
  }
  const server = createServer({
    requestTimeout: requestTimeoutMs,
    headersTimeout: Math.min(30_000, requestTimeoutMs),
    // How often Node looks for clients that are too slow; its own 30 s would let them stay much longer.
    connectionsCheckingInterval: Math.min(5_000, Math.ceil(requestTimeoutMs / 4)),
  })
  server.on('request', (incoming, response) => {
    const work = serve(deps, incoming, response).finally(() => working.delete(work))
    working.add(work)
  })
  server.on('upgrade', (_incoming, socket) => refuseUpgrade(socket))
  const drain = drainable(server)
  await listen(server, port, host)
  const { port: bound } = server.address() as AddressInfo
  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    draining = true
    options.control?.close()
    const cut = await drain(options.drainMs ?? 30_000)
    // Answers may be out that are not recorded yet.
    await Promise.all(working)
    await dispatcher.close()
    if (cut > 0) {
      throw new PlimsollError('timeout', `${cut} request(s) took longer than the drain time and were cancelled.`, {
        advice: 'Raise drainMs if answers may take longer.',
        fields: { cut },
      })
    }
  }
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    reload({ upstreams, ...connection }) {
      table = upstreamTable(upstreams)
      const before = dispatcher
      dispatcher = createDispatcher(connection)
      // Ends when its requests have.
      void before.close()
    },
    close: () => (closing ??= close()),
  }
}

/** @throws PlimsollError `bad-config` when the address cannot be had. */
async function listen(server: Server, port: number, host: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const [problem, advice] = REFUSED[cause.code ?? ''] ?? [cause.message, undefined]
      const message = `The proxy cannot listen on ${host}:${port}: ${problem}.`
      reject(new PlimsollError('bad-config', message, { ...(advice !== undefined && { advice }), cause }))
    })
    server.listen(port, host, resolve)
  })
}

const REFUSED: Readonly<Record<string, readonly [problem: string, advice: string]>> = {
  EADDRINUSE: ['the port is in use', 'Stop the other process, choose another --port, or use 0 to pick a free one.'],
  EACCES: ['this user may not use the port', 'Choose a --port above 1023.'],
  EADDRNOTAVAIL: ['this machine does not have the address', 'Choose another --host.'],
  ENOTFOUND: ['the host name is not known', 'Choose another --host.'],
}

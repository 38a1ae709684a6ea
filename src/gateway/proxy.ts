import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { PlimsollError } from '../core/errors.ts'
import { isLoopback, needsToken } from './access.ts'
import type { Control } from './operate/control.ts'
import { createDispatcher, type ConnectionOptions } from './http/upstreams.ts'
import type { Gateway } from './gateway.ts'
import { type Dashboard, type ProxyLine, refuseUpgrade, serve, type ServeDeps } from './http/serve.ts'
import type { Sidecar } from './operate/sidecar.ts'
import type { Writable } from '../util/writable.ts'
import { checkArguments, type Argument } from '../settings/check.ts'
import { fieldsOf, PROXY, type OptionsOf, type Upstreams } from '../settings/settings.ts'
import { any, code, driver, group, type Schema } from '../settings/values.ts'
import { upstreamTable } from './http/upstreams.ts'

export type { ProxyLine } from './http/serve.ts'

export interface ProxyOptions extends OptionsOf<typeof PROXY> {
  readonly upstreams: Upstreams
  /** Health, metrics, events and the API. */
  readonly control?: Control
  /** The page at `/`; needs `control`, which checks access. */
  readonly dashboard?: Dashboard
  /** The sidecar API for other gateways, at the root. */
  readonly sidecar?: Sidecar
  readonly onRequest?: (line: ProxyLine) => void
}

const ARGUMENTS: readonly Argument[] = [
  { name: 'gateway', schema: driver('the gateway of a Plimsoll', 'handle', 'routeOf') },
  {
    name: 'the options',
    schema: group(
      '',
      {
        ...fieldsOf(PROXY),
        control: any(),
        dashboard: any(),
        sidecar: any(),
        onRequest: code(),
      } satisfies Record<keyof ProxyOptions, Schema>,
      { required: ['upstreams'] },
    ),
  },
]

export interface Proxy {
  readonly url: string
  /** Replaces upstreams and connection settings for later requests. */
  reload(options: ConnectionOptions & { readonly upstreams: Upstreams }): void
  /** Accepts no new requests, waits for those in progress, then closes. Rejects with `timeout` if some had to be cut off. */
  close(): Promise<void>
}

/** The gateway behind a socket: `node:http` in front, `undici` streams behind. */
export async function startProxy(gateway: Gateway, options: ProxyOptions): Promise<Proxy> {
  checkArguments([gateway, options], ARGUMENTS, 'startProxy()', 'bad-config')
  const { port = 4141, host = '127.0.0.1', requestTimeoutMs = 120_000 } = options
  needsToken(host, options.token)
  const working = new Set<Promise<void>>()
  const { token, operatorToken, control, sidecar, onRequest, allowedHosts = [], allowedOrigins = [] } = options
  const deps: Writable<ServeDeps> = {
    gateway,
    origins: { isLocal: isLoopback(host), allowedHosts, allowedOrigins },
    dispatcher: createDispatcher(options),
    table: upstreamTable(options.upstreams),
    draining: false,
    token,
    operatorToken,
    control,
    dashboard: control === undefined ? undefined : options.dashboard,
    sidecar,
    onRequest,
  }
  const server = createServer({
    requestTimeout: requestTimeoutMs,
    headersTimeout: Math.min(30_000, requestTimeoutMs),
    // How often Node checks for slow clients; its default of 30 s would keep them much longer.
    connectionsCheckingInterval: Math.min(5_000, Math.ceil(requestTimeoutMs / 4)),
  })
  // Node silently drops headers beyond this number, possibly a credential. So all are read, and a request with too many is refused.
  server.maxHeadersCount = 0
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
    deps.draining = true
    control?.close()
    const cut = await drain(options.drainMs ?? 30_000)
    // Some answers may not be recorded yet.
    await Promise.all(working)
    await deps.dispatcher.close()
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
      deps.table = upstreamTable(upstreams)
      const before = deps.dispatcher
      deps.dispatcher = createDispatcher(connection)
      // Resolves when all requests have ended.
      void before.close()
    },
    close: () => (closing ??= close()),
  }
}

/** @throws PlimsollError `bad-config` if the address cannot be used */
async function listen(server: Server, port: number, host: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const [problem, advice] = REFUSED[cause.code ?? ''] ?? [cause.message, undefined]
      const message = `The proxy cannot listen on ${host}:${port}: ${problem}.`
      reject(new PlimsollError('bad-config', message, { advice, cause }))
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

const SWEEP_MS = 25

/**
 * Prepares a graceful shutdown: no new connections, and open ones close when they are idle. Returns the function that does
 * so; it resolves when every connection is closed, with the number of those that were cut off. Called before the server listens.
 */
function drainable(server: Server): (drainMs: number) => Promise<number> {
  /** The number of unfinished answers per connection. Node also calls a connection idle while a slow client still reads its answer. */
  const busy = new Map<Socket, number>()
  server.on('connection', (socket: Socket) => {
    busy.set(socket, 0)
    socket.once('close', () => busy.delete(socket))
  })
  server.on('request', ({ socket }, response) => {
    const count = (by: number): void => {
      if (busy.has(socket)) busy.set(socket, busy.get(socket)! + by)
    }
    count(1)
    response.once('close', () => count(-1))
  })
  return async (drainMs) => {
    let cut = 0
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    // A kept-alive connection becomes idle when its last answer is sent, which may be later than this line.
    const sweep = setInterval(() => {
      for (const [socket, answers] of busy) if (answers === 0 && socket.writableLength === 0) socket.destroySoon()
    }, SWEEP_MS)
    const timer = setTimeout(() => {
      cut = [...busy.values()].filter((answers) => answers > 0).length
      server.closeAllConnections()
    }, drainMs)
    await closed
    clearInterval(sweep)
    clearTimeout(timer)
    return cut
  }
}

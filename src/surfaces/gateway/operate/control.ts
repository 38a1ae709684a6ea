import type { IncomingMessage, ServerResponse } from 'node:http'
import { PlimsollError } from '../../../core/errors.ts'
import type { EventHub, NumberedEvent } from './event-hub.ts'
import type { Ledger } from './ledger.ts'
import type { Metrics } from './metrics.ts'

/** Health, metrics, events and the API of a running proxy. Reads events and nothing else. */
export interface Control {
  /** Answered without a token. */
  isOpen(path: string): boolean
  serves(path: string): boolean
  handle(
    incoming: IncomingMessage,
    response: ServerResponse,
    path: string,
    state: { readonly ready: boolean },
  ): undefined
  /** Ends the event streams. */
  close(): void
}

export interface ControlDeps {
  readonly hub: EventHub
  readonly ledger: Ledger
  readonly metrics: Metrics
  /** Whether the store answers. */
  readonly isReady: () => Promise<boolean>
}

/** `/health` is where those who call us as a compressor look. */
const OPEN = new Set(['/healthz', '/health', '/readyz'])

const KEEP_ALIVE_MS = 15_000
const MAX_PAGE = 1_000

export function createControl(deps: ControlDeps): Control {
  const streams = new Set<ServerResponse>()
  return {
    isOpen: (path) => OPEN.has(path),
    serves: (path) => path === '/metrics' || /^\/plimsoll(\/|\?|$)/.test(path),
    handle(incoming, response, path, state) {
      if (incoming.method !== 'GET' && incoming.method !== 'HEAD') {
        throw new PlimsollError('unsupported', `${incoming.method} is not possible here; only GET is.`)
      }
      const url = new URL(path, 'http://control')
      const [, , section = '', name = '', id] = url.pathname.split('/')
      if (path === '/healthz' || path === '/health') return json(response, 200, { ok: true })
      if (path === '/readyz') {
        void deps
          .isReady()
          .catch(() => false)
          .then((store) => json(response, store && state.ready ? 200 : 503, { ready: store && state.ready, store }))
        return undefined
      }
      if (path === '/metrics') {
        response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' }).end(deps.metrics.text())
        return undefined
      }
      if (section === 'events') return follow(deps.hub, streams, incoming, response, url)
      if (section === 'api' && name === 'sessions') return sessions(deps.ledger, response, id, url)
      if (section === 'api' && name === 'ledger') return json(response, 200, ledgerOf(deps.ledger, url))
      if (section === 'api' && name === 'events') {
        const since = Number(url.searchParams.get('since') ?? 0)
        return json(response, 200, { last: deps.hub.last, events: deps.hub.since(since).slice(-MAX_PAGE).map(flat) })
      }
      throw new PlimsollError('not-found', `There is no ${JSON.stringify(url.pathname)}.`, {
        advice:
          'Known: /plimsoll/events, /plimsoll/api/events, /plimsoll/api/sessions, /plimsoll/api/ledger, /metrics, /healthz, /readyz.',
      })
    },
    close() {
      for (const stream of streams) stream.end()
    },
  }
}

const flat = ({ number, event }: NumberedEvent): object => ({ number, ...event })

function json(response: ServerResponse, status: number, body: unknown): undefined {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function sessions(ledger: Ledger, response: ServerResponse, id: string | undefined, url: URL): undefined {
  const tenant = url.searchParams.get('tenant') ?? undefined
  const all = ledger.sessions(tenant)
  if (id === undefined || id === '') return json(response, 200, { sessions: all.slice(0, MAX_PAGE) })
  const found = all.filter((one) => one.session === decodeURIComponent(id))
  if (found.length === 0) throw new PlimsollError('not-found', 'This process has not seen that session.')
  return json(response, 200, { sessions: found })
}

const SPLITS = ['agent', 'session', 'key', 'tenant'] as const

/** Totals of the calls that match `tenant`, `session`, `agent` and `key`; `by` splits them, `calls` lists the newest. */
function ledgerOf(ledger: Ledger, url: URL): object {
  const filter = Object.fromEntries(
    SPLITS.flatMap((name) => {
      const value = url.searchParams.get(name)
      return value === null ? [] : [[name, value]]
    }),
  )
  const wanted = url.searchParams.get('by')
  const by = SPLITS.find((name) => name === wanted)
  if (wanted !== null && by === undefined) {
    throw new PlimsollError('bad-input', `The ledger cannot be split by ${JSON.stringify(wanted)}.`, {
      advice: `Known: ${SPLITS.join(', ')}.`,
    })
  }
  const rows = by === undefined ? [] : Array.from(ledger.split(by, filter), ([name, totals]) => ({ name, ...totals }))
  return {
    totals: ledger.totals(filter),
    ...(by !== undefined && { by, rows: rows.sort((a, b) => b.costUsd - a.costUsd).slice(0, MAX_PAGE) }),
    ...(url.searchParams.has('calls') && { calls: ledger.calls(filter) }),
  }
}

/** Server-sent events; a client that comes back with `Last-Event-ID` misses nothing that is still kept. */
function follow(
  hub: EventHub,
  streams: Set<ServerResponse>,
  incoming: IncomingMessage,
  response: ServerResponse,
  url: URL,
): undefined {
  const since = Number(incoming.headers['last-event-id'] ?? url.searchParams.get('since') ?? hub.last)
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  response.flushHeaders()
  const write = (numbered: NumberedEvent): void =>
    void response.write(
      `id: ${numbered.number}\nevent: ${numbered.event.type}\ndata: ${JSON.stringify(flat(numbered))}\n\n`,
    )
  hub.since(since).forEach(write)
  const stop = hub.subscribe(write)
  const timer = setInterval(() => response.write(': still here\n\n'), KEEP_ALIVE_MS)
  timer.unref()
  streams.add(response)
  response.once('close', () => {
    stop()
    clearInterval(timer)
    streams.delete(response)
  })
}

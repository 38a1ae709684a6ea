import type { IncomingMessage, ServerResponse } from 'node:http'
import { PlimsollError } from '../../core/errors.ts'
import type { PlimsollEvent } from '../../core/events.ts'
import { TOKEN_HEADER, unauthorised } from '../access.ts'
import { decodePart } from '../http/encoding.ts'
import { createAudiences, type Asking, type Audience, type AudienceDeps, type Audiences } from './audience.ts'
import type { Ledger } from '../../compose/ledger.ts'
import type { Metrics } from './metrics.ts'

/** Health, metrics, events and the API of a running proxy. Reads events and nothing else. */
export interface Control {
  /** Whether the path needs no token. */
  isOpen(path: string): boolean
  serves(path: string): boolean
  handle(asked: ControlRequest): Promise<void>
  /** Who may see what. */
  readonly audiences: Audiences
  /** Ends the event streams. */
  close(): void
}

interface ControlRequest extends Asking {
  readonly incoming: IncomingMessage
  readonly response: ServerResponse
  readonly isReady: boolean
}

interface ControlDeps extends AudienceDeps {
  readonly hub: EventHub
  readonly ledger: Ledger
  readonly metrics: Metrics
  /** Whether the store answers. */
  readonly isReady: () => Promise<boolean>
}

/** Callers of the sidecar use `/health`. */
const OPEN = new Set(['/healthz', '/health', '/readyz'])

/** The page takes a server for gone that says nothing for ten seconds. */
const KEEP_ALIVE_MS = 3_000
const MAX_PAGE = 1_000

export function createControl(deps: ControlDeps): Control {
  const streams = new Set<ServerResponse>()
  const audiences = createAudiences(deps)
  deps.hub.subscribe(({ event }) => audiences.take(event))
  return {
    audiences,
    isOpen: (path) => OPEN.has(path),
    serves: (path) => path === '/metrics' || /^\/plimsoll(\/|\?|$)/.test(path),
    async handle(asked) {
      const { incoming, response, path } = asked
      if (incoming.method !== 'GET' && incoming.method !== 'HEAD') {
        throw new PlimsollError('unsupported', `${incoming.method} is not allowed here; use GET.`)
      }
      if (path === '/healthz' || path === '/health') return json(response, 200, { ok: true })
      if (path === '/readyz') {
        const store = await deps.isReady().catch(() => false)
        return json(response, store && asked.isReady ? 200 : 503, { ready: store && asked.isReady, store })
      }
      const audience = await audiences.of(asked)
      if (path === '/metrics') return metrics(deps.metrics, response, audience)
      const url = new URL(path, 'http://control')
      const [, , section = '', name = '', id] = url.pathname.split('/')
      const tenant = tenantIn(url, audience)
      if (section === 'events') return follow(deps.hub, streams, asked, audience, url)
      if (section === 'api' && name === 'sessions') return sessions(deps.ledger, response, id, tenant)
      if (section === 'api' && name === 'ledger') return json(response, 200, ledgerOf(deps.ledger, url, tenant))
      if (section === 'api' && name === 'events') {
        const since = Number(url.searchParams.get('since') ?? 0)
        const events = deps.hub.since(since).filter(({ event }) => audience.sees(event.tenant))
        return json(response, 200, { last: deps.hub.last, events: events.slice(-MAX_PAGE).map(flat) })
      }
      throw new PlimsollError('not-found', `There is no ${JSON.stringify(url.pathname)}.`, {
        advice:
          'Known: /plimsoll/events, /plimsoll/api/events, /plimsoll/api/sessions, /plimsoll/api/ledger, /metrics, /healthz, /readyz.',
      })
    },
    close() {
      for (const stream of streams) end(stream)
    },
  }
}

/** Sums over all tenants, which belong to none of them. */
function metrics({ text }: Metrics, response: ServerResponse, { tenant }: Audience): void {
  if (tenant !== undefined) {
    throw unauthorised(
      'Metrics are about all tenants together.',
      `Send the operator's token (PLIMSOLL_OPERATOR_TOKEN) as ${TOKEN_HEADER} or as Authorization: Bearer.`,
    )
  }
  response.writeHead(200, { ...PRIVATE, 'content-type': 'text/plain; version=0.0.4' }).end(text())
}

/** The tenant of a request for data. @throws PlimsollError `forbidden` for another tenant */
function tenantIn(url: URL, audience: Audience): string | undefined {
  const wanted = url.searchParams.get('tenant') ?? audience.tenant
  if (wanted === undefined || audience.sees(wanted)) return wanted
  throw new PlimsollError('forbidden', 'Your credentials belong to another tenant.')
}

const flat = ({ number, event }: NumberedEvent): object => ({ number, ...event })

/** Other websites can neither embed these pages nor detect their content. */
const PRIVATE = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { ...PRIVATE, 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function sessions(ledger: Ledger, response: ServerResponse, id: string | undefined, tenant: string | undefined): void {
  const all = ledger.sessions(tenant)
  if (id === undefined || id === '') return json(response, 200, { sessions: all.slice(0, MAX_PAGE) })
  const wanted = decodePart(id)
  const found = all.filter((one) => one.session === wanted)
  if (found.length === 0) throw new PlimsollError('not-found', 'This process has not seen that session.')
  return json(response, 200, { sessions: found })
}

const SPLITS = ['agent', 'session', 'key', 'tenant'] as const

/** Totals of the calls that match `tenant`, `session`, `agent` and `key`; `by` splits them, `calls` lists the newest. */
function ledgerOf(ledger: Ledger, url: URL, tenant: string | undefined): object {
  const filter = Object.fromEntries(
    SPLITS.flatMap((name) => {
      const value = name === 'tenant' ? tenant : url.searchParams.get(name)
      return value === null || value === undefined ? [] : [[name, value]]
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

/** The most bytes that wait for a listener that does not read. It can reconnect with `Last-Event-ID`. */
const MAX_WAITING_BYTES = 1024 * 1024
/** How long listeners may read the rest of a stream when the proxy closes. */
const LAST_WORDS_MS = 500

/** Server-sent events. A client that reconnects with `Last-Event-ID` gets all events since then that are still kept. */
function follow(
  hub: EventHub,
  streams: Set<ServerResponse>,
  { incoming, response }: ControlRequest,
  audience: Audience,
  url: URL,
): void {
  const since = Number(incoming.headers['last-event-id'] ?? url.searchParams.get('since') ?? hub.last)
  response.writeHead(200, { ...PRIVATE, 'content-type': 'text/event-stream; charset=utf-8' })
  response.flushHeaders()
  const write = (text: string): void => {
    if (response.writableLength > MAX_WAITING_BYTES) response.destroy()
    else response.write(text)
  }
  const tell = (numbered: NumberedEvent): void => {
    if (!audience.sees(numbered.event.tenant)) return
    write(`id: ${numbered.number}\nevent: ${numbered.event.type}\ndata: ${JSON.stringify(flat(numbered))}\n\n`)
  }
  hub.since(since).forEach(tell)
  const stop = hub.subscribe(tell)
  const timer = setInterval(() => write(': still here\n\n'), KEEP_ALIVE_MS)
  timer.unref()
  streams.add(response)
  response.on('error', () => undefined)
  response.once('close', () => {
    stop()
    clearInterval(timer)
    streams.delete(response)
  })
}

/** A listener that does not read must not keep the process alive. */
function end(stream: ServerResponse): void {
  const timer = setTimeout(() => stream.destroy(), LAST_WORDS_MS)
  stream.once('close', () => clearTimeout(timer))
  stream.end()
}

/** An event and its number in the stream of this process. */
export interface NumberedEvent {
  readonly number: number
  readonly event: PlimsollEvent
}

export type EventHub = ReturnType<typeof createEventHub>

/** The process's stream of events: keeps the newest ones and calls the listeners. */
export function createEventHub(keep = 2_000) {
  const kept: NumberedEvent[] = []
  const listeners = new Set<(numbered: NumberedEvent) => void>()
  let last = 0
  return {
    take(event: PlimsollEvent): void {
      const numbered = { number: ++last, event }
      kept.push(numbered)
      // Trimmed in batches: shifting a long array for every event would be quadratic.
      if (kept.length > keep * 2) kept.splice(0, kept.length - keep)
      for (const listener of listeners) listener(numbered)
    },
    /** Events after `number`, oldest first, as far back as they are kept. */
    since: (number: number): readonly NumberedEvent[] => kept.filter((one) => one.number > number),
    subscribe(listener: (numbered: NumberedEvent) => void): () => void {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    get last(): number {
      return last
    },
  }
}

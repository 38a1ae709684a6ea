import type { PreparedTurn } from '../engine/prepare/prepare.ts'

/** `off`: not looked at. `observe`: reported and left alone. A name: that policy. */
export const POLICY_HEADER = 'x-plimsoll-policy'

/** Headers that belong to one connection, or to the body as it came, and are never passed on. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'host',
  'content-length',
  'expect',
])

/** Names that a `Connection` header says are for this connection only. */
export function namedIn(connection: string | readonly string[] | null | undefined): ReadonlySet<string> {
  if (connection === undefined || connection === null || connection === 'keep-alive') return NO_NAMES
  return new Set(
    String(connection)
      .toLowerCase()
      .split(',')
      .map((name) => name.trim()),
  )
}

const NO_NAMES: ReadonlySet<string> = new Set()

/** Whether a client's header goes to the upstream. What is addressed to us, or to this connection, stays here. */
export const goesUpstream = (name: string, connection: ReadonlySet<string>): boolean =>
  !HOP_BY_HOP.has(name) && !name.startsWith('x-plimsoll-') && !connection.has(name)

const CONNECTION_ONLY = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'proxy-authenticate',
  'trailer',
  'upgrade',
])

/** Headers by which a server lets pages of others read it. Which pages may read us is ours to say. */
const isAboutOrigins = (name: string): boolean =>
  name.startsWith('access-control-') || name === 'timing-allow-origin' || name === 'cross-origin-resource-policy'

/** Whether an upstream's header goes to the client. It cannot speak in our name. */
export const goesToClient = (name: string, connection: ReadonlySet<string>): boolean =>
  !CONNECTION_ONLY.has(name) && !name.startsWith('x-plimsoll-') && !isAboutOrigins(name) && !connection.has(name)

interface ReportFacts {
  readonly session: string
  readonly prepared: PreparedTurn
  readonly mode: 'apply' | 'observe'
  readonly recovered: boolean
  /** US dollars that the session has cost before this request, where prices are known. */
  readonly costUsd?: number | undefined
  /** The wire that answered, where it is not the client's. */
  readonly wire?: string | undefined
}

/** What every managed answer says about itself. Header values hold no content. */
export function reportHeaders({
  session,
  prepared,
  mode,
  recovered,
  costUsd,
  wire,
}: ReportFacts): Record<string, string> {
  const { load, limit, verdict, epoch, report } = prepared
  const headers: Record<string, string> = {
    'x-plimsoll-session': encodeURIComponent(session),
    'x-plimsoll-load': String(Math.ceil(load.count.high)),
    'x-plimsoll-limit': String(limit.tokens),
    'x-plimsoll-verdict': verdict.kind,
    'x-plimsoll-saved': String(Math.max(0, Math.round(report.loadOriginal - report.loadAfter))),
  }
  if (epoch !== undefined) headers['x-plimsoll-epoch'] = epoch
  if (costUsd !== undefined) headers['x-plimsoll-cost'] = costUsd.toFixed(6)
  if (wire !== undefined) headers['x-plimsoll-wire'] = wire
  if (recovered) headers['x-plimsoll-recovered'] = 'overflow'
  if (mode === 'observe') {
    headers['x-plimsoll-mode'] = 'observe'
    headers['x-plimsoll-would'] = wouldDo(prepared)
  }
  return headers
}

function wouldDo({ report, verdict }: PreparedTurn): string {
  const deeds = [
    ...(verdict.kind === 'halt' || verdict.kind === 'final' ? [verdict.kind] : []),
    ...(report.newEpoch === undefined ? [] : ['epoch']),
    ...(report.shortened.length === 0 ? [] : ['shorten']),
    ...(report.untouched ? [] : ['rewrite']),
  ]
  return deeds.length === 0 ? 'nothing' : deeds.join(', ')
}

import type { PlimsollEvent } from '../../core/events.ts'
import { addUsage, NO_USAGE, type Usage } from '../../core/usage.ts'

/** One session as its events describe it. */
export interface SessionSummary {
  readonly tenant: string
  readonly session: string
  readonly firstAt: number
  readonly lastAt: number
  readonly requests: number
  readonly load: number
  readonly limit: number
  readonly verdict?: string
  readonly epochs: number
  readonly epoch?: string
  readonly offloaded: number
  readonly recovered: number
  readonly usage: Usage
  /** Absent while no price was known. */
  readonly costUsd?: number
}

/** Sums up events: what headers, metrics and the API say about sessions. Holds the newest sessions of this process. */
export interface Ledger {
  take(event: PlimsollEvent): void
  session(tenant: string, session: string): SessionSummary | undefined
  sessions(tenant?: string): readonly SessionSummary[]
}

const MAX_SESSIONS = 10_000

export function createLedger(): Ledger {
  const known = new Map<string, SessionSummary>()
  return {
    take(event) {
      if (event.session === '') return
      const key = keyOf(event.tenant, event.session)
      const next = reduce(known.get(key) ?? begin(event), event)
      known.delete(key)
      known.set(key, next)
      if (known.size > MAX_SESSIONS) known.delete(known.keys().next().value!)
    },
    session: (tenant, session) => known.get(keyOf(tenant, session)),
    sessions: (tenant) =>
      [...known.values()].toReversed().filter((one) => tenant === undefined || one.tenant === tenant),
  }
}

const keyOf = (tenant: string, session: string): string => JSON.stringify([tenant, session])

const begin = ({ tenant, session, at }: PlimsollEvent): SessionSummary => ({
  tenant,
  session,
  firstAt: at,
  lastAt: at,
  requests: 0,
  load: 0,
  limit: 0,
  epochs: 0,
  offloaded: 0,
  recovered: 0,
  usage: NO_USAGE,
})

function reduce(before: SessionSummary, event: PlimsollEvent): SessionSummary {
  const summary = { ...before, lastAt: event.at }
  switch (event.type) {
    case 'request-prepared':
      return { ...summary, requests: before.requests + 1, load: event.load, limit: event.limit, verdict: event.verdict }
    case 'epoch-declared':
      return { ...summary, epochs: before.epochs + 1, epoch: event.epoch }
    case 'item-offloaded':
      return { ...summary, offloaded: before.offloaded + 1 }
    case 'overflow-recovered':
      return { ...summary, recovered: before.recovered + 1 }
    case 'usage-recorded':
      return {
        ...summary,
        usage: addUsage(before.usage, event.usage),
        ...((before.costUsd !== undefined || event.costUsd !== undefined) && {
          costUsd: (before.costUsd ?? 0) + (event.costUsd ?? 0),
        }),
      }
    default:
      return summary
  }
}

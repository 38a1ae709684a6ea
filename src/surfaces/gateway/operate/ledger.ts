import { BoundedMap } from '../../../lib/bounded-map.ts'
import type { PlimsollEvent } from '../../../core/events.ts'
import type { Usage } from '../../../core/usage.ts'
import {
  createLedger as createCallLedger,
  type Ledger as CallLedger,
  type LedgerOptions,
} from '../../../meter/index.ts'

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

/** The ledger of calls with how each session stands beside it. Holds the newest sessions of this process. */
export interface Ledger extends CallLedger {
  session(tenant: string, session: string): SessionSummary | undefined
  sessions(tenant?: string): readonly SessionSummary[]
}

/** What a session's events say beside its calls. */
type Standing = Omit<SessionSummary, 'usage' | 'costUsd'>

const MOST_SESSIONS = 10_000

export function createLedger(options: LedgerOptions = {}): Ledger {
  const calls = createCallLedger(options)
  const known = new BoundedMap<string, Standing>(MOST_SESSIONS)
  const summaryOf = (standing: Standing): SessionSummary => {
    const { tenant, session } = standing
    const { usage, costUsd, calls: made, unmeasured, unpriced } = calls.totals({ tenant, session })
    return { ...standing, usage, ...(made > unmeasured + unpriced && { costUsd }) }
  }
  return {
    ...calls,
    take(event) {
      calls.take(event)
      if (event.session === '') return
      const key = keyOf(event.tenant, event.session)
      const next = reduce(known.get(key) ?? begin(event), event)
      known.set(key, next)
    },
    session(tenant, session) {
      const standing = known.peek(keyOf(tenant, session))
      return standing === undefined ? undefined : summaryOf(standing)
    },
    sessions: (tenant) =>
      [...known.values()]
        .toReversed()
        .filter((one) => tenant === undefined || one.tenant === tenant)
        .map(summaryOf),
  }
}

const keyOf = (tenant: string, session: string): string => JSON.stringify([tenant, session])

const begin = ({ tenant, session, at }: PlimsollEvent): Standing => ({
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
})

function reduce(before: Standing, event: PlimsollEvent): Standing {
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
    default:
      return summary
  }
}

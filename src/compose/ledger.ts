import { BoundedMap, jointKey } from '../util/bounded-map.ts'
import type { Writable } from '../util/writable.ts'
import type { PlimsollEvent } from '../core/events.ts'
import type { Usage } from '../core/usage.ts'
import { createLedger as createCallLedger, type Ledger as CallLedger, type LedgerOptions } from '../meter/index.ts'

/** One session as its events describe it. */
interface SessionSummary {
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

/** The ledger of calls, with a summary of each session. Contains the newest sessions of this process. */
export interface Ledger extends CallLedger {
  session(tenant: string, session: string): SessionSummary | undefined
  sessions(tenant?: string): readonly SessionSummary[]
}

/** The part of a session's summary that does not come from its calls. */
type Standing = Writable<Omit<SessionSummary, 'usage' | 'costUsd'>>

const MOST_SESSIONS = 10_000

export function createLedger(options: LedgerOptions = {}): Ledger {
  const calls = createCallLedger(options)
  const known = new BoundedMap<string, Standing>(MOST_SESSIONS)
  const summaryOf = (standing: Standing): SessionSummary => {
    const { tenant, session } = standing
    const { usage } = calls.totals({ tenant, session })
    const costUsd = calls.costOf(tenant, session)
    return { ...standing, usage, costUsd }
  }
  return {
    ...calls,
    take(event) {
      calls.take(event)
      if (event.session === '') return
      const key = jointKey(event.tenant, event.session)
      let standing = known.get(key)
      if (standing === undefined) known.set(key, (standing = begin(event)))
      standing.lastAt = event.at
      switch (event.type) {
        case 'request-prepared':
          standing.requests++
          standing.load = event.load
          standing.limit = event.limit
          standing.verdict = event.verdict
          break
        case 'epoch-declared':
          standing.epochs++
          standing.epoch = event.epoch
          break
        case 'item-offloaded':
          standing.offloaded++
          break
        case 'overflow-recovered':
          standing.recovered++
      }
    },
    session(tenant, session) {
      const standing = known.peek(jointKey(tenant, session))
      return standing === undefined ? undefined : summaryOf(standing)
    },
    sessions: (tenant) =>
      [...known.values()]
        .toReversed()
        .filter((one) => tenant === undefined || one.tenant === tenant)
        .map(summaryOf),
  }
}

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

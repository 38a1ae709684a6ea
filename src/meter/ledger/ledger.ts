import { BoundedMap } from '../../util/bounded-map.ts'
import { jointKey } from '../../util/joint-key.ts'
import type { Writable } from '../../util/writable.ts'
import type { PlimsollEvent } from '../../core/events.ts'
import { costOfUsage, type PriceModel } from '../../core/price.ts'
import type { UsageSeen } from '../../core/records.ts'
import type { Usage } from '../../core/usage.ts'
import { isKnownUsage } from '../usage.ts'
import type { Spender } from './budget-terms.ts'
import {
  addCall,
  addTotals,
  type CallPurpose,
  type LedgerTotals,
  NO_CALLS,
  noCallsYet,
  type RunningTotals,
} from './totals.ts'
import { turnLine, type TurnUsage } from './turns.ts'

/** One model call, side calls included: whoever summarises spends too. */
export interface LedgerCall {
  readonly spender: Spender
  readonly model: string
  readonly purpose: CallPurpose
  /** Absent when the provider reported none. */
  readonly usage?: Usage
  readonly price?: PriceModel
  /** Where it is known already; else it is `usage` times `price`. */
  readonly costUsd?: number
  readonly durationMs?: number
  /** Milliseconds since 1970. */
  readonly at?: number
}

/** Which calls to add up; fields that are left out match all. */
export type LedgerFilter = Partial<Spender>
export type LedgerSplit = keyof Spender

/** The one book of calls: headers, metrics, commands and the API read nothing else. */
export interface Ledger {
  /** Adds a call and returns its cost, undefined when usage or price is unknown. */
  record(call: LedgerCall): number | undefined
  /** Adds the call that an event tells of; other events pass. */
  take(event: PlimsollEvent): void
  /**
   * Adds a call from a session's log. Only what was logged before this ledger began counts, and once: later calls come as events.
   */
  restore(place: { readonly tenant: string; readonly session: string; readonly version: number }, call: UsageSeen): void
  totals(filter?: LedgerFilter): LedgerTotals
  /** Totals of each agent, session, key or tenant among the calls. */
  split(by: LedgerSplit, filter?: LedgerFilter): ReadonlyMap<string, LedgerTotals>
  /** What the calls of a session have cost, where a price was known for one of them. */
  costOf(tenant: string, session: string): number | undefined
  /** Totals of each agent of a session. */
  byAgent(tenant: string, session: string): ReadonlyMap<string, LedgerTotals>
  /** The newest calls, newest first; at most some hundreds are kept. */
  calls(filter?: LedgerFilter): readonly LedgerCall[]
  /** The line after a turn: "Turn 5 | Input: …". Side calls are no turns. */
  report(tenant: string, session: string): string
  /** Input and output of the last turn, and what the turns had on average. */
  lastTurn(tenant: string, session: string): (TurnUsage & { readonly average: number }) | undefined
}

interface Sheet {
  readonly spender: Spender
  totals: RunningTotals
  turns: number
  turnTokens: number
  last: TurnUsage | undefined
  /** Order of the last turn over all sheets. */
  lastAt: number
}

export interface LedgerOptions {
  /** When this ledger begins, by the clock that stamps the records. @default the beginning of time: nothing is restored */
  readonly startedAt?: number
  /** Newest calls that are kept one by one. @default 500 */
  readonly keep?: number
}

/** Sheets of a tenant, by session, then by agent and key. */
interface TenantSheets {
  readonly sessions: Map<string, Map<string, Sheet>>
  count: number
}

/** Sessions that are kept apart; older ones go on in their tenant's totals under this name, those of tenants with no other in one sum. */
const MOST_SHEETS = 20_000
const FOLDED = '(older sessions)'
const OLDER_TENANTS = '(older tenants)'
const MOST_CALLS = 500

export function createLedger(options: LedgerOptions = {}): Ledger {
  const { startedAt = 0, keep = MOST_CALLS } = options
  /** In the order of their last call. */
  const sheets = new BoundedMap<Sheet, true>(Infinity)
  const tenants = new Map<string, TenantSheets>()
  const restored = new BoundedMap<string, number>(MOST_SHEETS)
  const newest: LedgerCall[] = []
  let clock = 0

  const sheetsOf = (tenant: string, session: string): Iterable<Sheet> =>
    tenants.get(tenant)?.sessions.get(session)?.values() ?? []

  function sheetOf(spender: Spender): Sheet {
    const { tenant, session } = spender
    const sheet = tenants.get(tenant)?.sessions.get(session)?.get(whoOf(spender)) ?? newSheet(spender)
    sheets.set(sheet, true)
    return sheet
  }

  function newSheet(spender: Spender): Sheet {
    const { tenant, session } = spender
    const sheet: Sheet = { spender, totals: noCallsYet(), turns: 0, turnTokens: 0, last: undefined, lastAt: 0 }
    const own = tenants.get(tenant) ?? { sessions: new Map<string, Map<string, Sheet>>(), count: 0 }
    tenants.set(tenant, own)
    own.count++
    const beside = own.sessions.get(session) ?? new Map<string, Sheet>()
    own.sessions.set(session, beside.set(whoOf(spender), sheet))
    return sheet
  }

  /** How many of its tenant are left. */
  function removeSheet(sheet: Sheet): number {
    const { tenant, session } = sheet.spender
    sheets.delete(sheet)
    const own = tenants.get(tenant)
    if (own === undefined) return 0
    const beside = own.sessions.get(session)
    beside?.delete(whoOf(sheet.spender))
    if (beside?.size === 0) own.sessions.delete(session)
    if (--own.count === 0) tenants.delete(tenant)
    return own.count
  }

  function foldOldest(): void {
    if (sheets.size <= MOST_SHEETS) return
    const sheet = sheets.oldest!
    const { spender, totals } = sheet
    const others = removeSheet(sheet)
    const { agent: _, ...rest } = spender
    const isLast = others === 0 || spender.session === FOLDED
    const rests = sheetOf(
      isLast ? { tenant: OLDER_TENANTS, session: FOLDED, key: OLDER_TENANTS } : { ...rest, session: FOLDED },
    )
    rests.totals = addTotals(rests.totals, totals)
  }

  function matching(filter: LedgerFilter): Sheet[] {
    const { tenant, session } = filter
    const among = tenant === undefined || session === undefined ? sheets.keys() : sheetsOf(tenant, session)
    return [...among].filter(({ spender }) => isOf(spender, filter))
  }

  function record(call: LedgerCall): number | undefined {
    const { spender, usage, price } = call
    const sheet = sheetOf(spender)
    const known = isKnownUsage(usage)
    const cost = call.costUsd ?? (known && price !== undefined ? costOfUsage(usage, price) : undefined)
    addCall(sheet.totals, call, cost)
    if (call.purpose === 'turn' && known) {
      sheet.turns++
      sheet.turnTokens += usage.input + usage.output
      sheet.last = { input: usage.input, output: usage.output }
      sheet.lastAt = ++clock
    }
    if (keep > 0) newest.push(cost === call.costUsd ? call : { ...call, costUsd: cost! })
    if (newest.length > keep * 2) newest.splice(0, newest.length - keep)
    // Folding may begin a sheet for what is folded: twice is enough to get smaller.
    foldOldest()
    foldOldest()
    return cost
  }

  function split(by: LedgerSplit, filter: LedgerFilter = {}): Map<string, LedgerTotals> {
    const parts = new Map<string, LedgerTotals>()
    for (const { spender, totals } of matching(filter)) {
      const name = spender[by] ?? (by === 'agent' ? 'main' : spender.tenant)
      parts.set(name, addTotals(parts.get(name) ?? NO_CALLS, totals))
    }
    return parts
  }

  function turnsOf(tenant: string, session: string): { turns: number; tokens: number; last: TurnUsage } | undefined {
    const own = matching({ tenant, session }).sort((a, b) => a.lastAt - b.lastAt)
    const last = own.at(-1)?.last
    if (last === undefined) return undefined
    return {
      turns: own.reduce((sum, sheet) => sum + sheet.turns, 0),
      tokens: own.reduce((sum, sheet) => sum + sheet.turnTokens, 0),
      last,
    }
  }

  return {
    record,
    take(event) {
      if (event.type !== 'usage-recorded' && event.type !== 'usage-missing') return
      record(callOf(event.tenant, event.session, event))
    },
    restore({ tenant, session, version }, call) {
      const place = jointKey(tenant, session)
      if (call.at >= startedAt || version <= (restored.get(place) ?? 0)) return
      restored.set(place, version)
      record(callOf(tenant, session, call))
    },
    totals: (filter = {}) => matching(filter).reduce((sum, { totals }) => addTotals(sum, totals), NO_CALLS),
    split,
    costOf(tenant, session) {
      let costUsd = 0
      let priced = 0
      for (const { totals } of sheetsOf(tenant, session)) {
        costUsd += totals.costUsd
        priced += totals.calls - totals.unmeasured - totals.unpriced
      }
      return priced > 0 || costUsd > 0 ? costUsd : undefined
    },
    byAgent: (tenant, session) => split('agent', { tenant, session }),
    calls: (filter = {}) =>
      newest
        .slice(-keep)
        .filter(({ spender }) => isOf(spender, filter))
        .toReversed(),
    report(tenant, session) {
      const own = turnsOf(tenant, session)
      return own === undefined ? 'No turns yet' : turnLine(own.turns, own.last, own.tokens)
    },
    lastTurn(tenant, session) {
      const own = turnsOf(tenant, session)
      return own === undefined ? undefined : { ...own.last, average: Math.floor(own.tokens / own.turns) }
    },
  }
}

/** A call as a session's log holds it, or as an event tells of it. */
export function callOf(
  tenant: string,
  session: string,
  told: Pick<UsageSeen, 'agent' | 'key' | 'model' | 'purpose' | 'usage' | 'costUsd' | 'durationMs' | 'at'>,
): LedgerCall {
  const { agent, key, model, purpose, usage, costUsd, durationMs, at } = told
  const spender: Writable<Spender> = { tenant, session, key: key ?? tenant }
  if (agent !== undefined) spender.agent = agent
  const call: Writable<LedgerCall> = { spender, model, purpose, at }
  if (usage !== undefined) call.usage = usage
  if (costUsd !== undefined) call.costUsd = costUsd
  if (durationMs !== undefined) call.durationMs = durationMs
  return call
}

/** Who spends within a session. */
const whoOf = ({ agent = '', key = '' }: Spender): string => jointKey(agent, key)

const isOf = (spender: Spender, filter: LedgerFilter): boolean =>
  (Object.keys(filter) as (keyof Spender)[]).every(
    (name) => filter[name] === undefined || spender[name] === filter[name],
  )

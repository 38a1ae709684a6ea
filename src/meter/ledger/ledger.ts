import type { PlimsollEvent } from '../../core/events.ts'
import { costOfUsage, type PriceModel } from '../../core/price.ts'
import type { UsageSeen } from '../../core/records.ts'
import { addUsage, isKnownUsage, NO_USAGE, type Usage } from '../../core/usage.ts'
import type { Spender } from './budgets.ts'
import { BoundedMap, jointKey } from '../../util/bounded-map.ts'
import type { CacheSeen } from '../../core/cache.ts'

/* `createLedger` is long because all its functions write the same sheets; none of them alone is. */

/** One model call, calls for summaries included. */
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
  totals: LedgerTotals
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

/** Sheets that are kept apart; older sessions go on in their tenant's totals under this name, those of older tenants in one sum. */
const MOST_SHEETS = 20_000
const FOLDED = '(older sessions)'
const OLDER_TENANTS = '(older tenants)'
const MOST_CALLS = 500

export function createLedger(options: LedgerOptions = {}): Ledger {
  const { startedAt = 0, keep = MOST_CALLS } = options
  /** By session, in the order of their last call, then by who spends within it. */
  const sessions = new Map<string, Map<string, Sheet>>()
  const restored = new BoundedMap<string, number>(MOST_SHEETS)
  const newest: LedgerCall[] = []
  let sheets = 0
  let clock = 0

  function sheetOf(spender: Spender): Sheet {
    const { tenant, session, agent = '', key = '' } = spender
    const place = jointKey(tenant, session)
    const own = sessions.get(place) ?? new Map<string, Sheet>()
    sessions.delete(place)
    sessions.set(place, own)
    const who = jointKey(agent, key)
    const known = own.get(who)
    if (known !== undefined) return known
    const sheet: Sheet = { spender, totals: NO_CALLS, turns: 0, turnTokens: 0, last: undefined, lastAt: 0 }
    own.set(who, sheet)
    sheets++
    return sheet
  }

  function foldOldest(): void {
    const [place, own] = sessions.entries().next().value!
    sessions.delete(place)
    sheets -= own.size
    for (const { spender, totals } of own.values()) {
      const { tenant, key } = spender
      const rest = sheetOf(
        spender.session === FOLDED
          ? { tenant: OLDER_TENANTS, session: FOLDED, key: OLDER_TENANTS }
          : { tenant, session: FOLDED, key },
      )
      rest.totals = addTotals(rest.totals, totals)
    }
  }

  function matching(filter: LedgerFilter): Sheet[] {
    const { tenant, session } = filter
    const among =
      tenant === undefined || session === undefined
        ? [...sessions.values()].flatMap((own) => [...own.values()])
        : [...(sessions.get(jointKey(tenant, session))?.values() ?? [])]
    return among.filter(({ spender }) => isOf(spender, filter))
  }

  function record(call: LedgerCall): number | undefined {
    const { spender, usage, price, purpose, durationMs = 0 } = call
    const sheet = sheetOf(spender)
    const known = isKnownUsage(usage)
    const cost = call.costUsd ?? (known && price !== undefined ? costOfUsage(usage, price) : undefined)
    sheet.totals = addTotals(sheet.totals, {
      calls: 1,
      unmeasured: known ? 0 : 1,
      unpriced: known && cost === undefined ? 1 : 0,
      usage: known ? usage : NO_USAGE,
      costUsd: cost ?? 0,
      durationMs,
      byPurpose: { [purpose]: cost ?? 0 },
    })
    if (purpose === 'turn' && known) {
      sheet.turns++
      sheet.turnTokens += usage.input + usage.output
      sheet.last = { input: usage.input, output: usage.output }
      sheet.lastAt = ++clock
    }
    if (keep > 0) newest.push({ ...call, costUsd: cost })
    if (newest.length > keep * 2) newest.splice(0, newest.length - keep)
    while (sheets > MOST_SHEETS) foldOldest()
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
      for (const { totals } of matching({ tenant, session })) {
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
  const { agent, key = tenant, model, purpose, usage, costUsd, durationMs, at } = told
  return { spender: { tenant, session, key, agent }, model, purpose, at, usage, costUsd, durationMs }
}

const isOf = (spender: Spender, filter: LedgerFilter): boolean =>
  (Object.keys(filter) as (keyof Spender)[]).every(
    (name) => filter[name] === undefined || spender[name] === filter[name],
  )

export type CallPurpose = UsageSeen['purpose']

/** Sums over calls. */
export interface LedgerTotals {
  readonly calls: number
  /** Calls of which the provider reported no usage. */
  readonly unmeasured: number
  /** Measured calls of models without a known price. */
  readonly unpriced: number
  readonly usage: Usage
  readonly costUsd: number
  readonly durationMs: number
  /** Cost by what the calls were for. */
  readonly byPurpose: Readonly<Partial<Record<CallPurpose, number>>>
}

const NO_CALLS: LedgerTotals = {
  calls: 0,
  unmeasured: 0,
  unpriced: 0,
  usage: NO_USAGE,
  costUsd: 0,
  durationMs: 0,
  byPurpose: {},
}

function addTotals(a: LedgerTotals, b: LedgerTotals): LedgerTotals {
  const byPurpose: Partial<Record<CallPurpose, number>> = { ...a.byPurpose }
  for (const purpose of Object.keys(b.byPurpose) as CallPurpose[]) {
    byPurpose[purpose] = (byPurpose[purpose] ?? 0) + (b.byPurpose[purpose] ?? 0)
  }
  return {
    calls: a.calls + b.calls,
    unmeasured: a.unmeasured + b.unmeasured,
    unpriced: a.unpriced + b.unpriced,
    usage: addUsage(a.usage, b.usage),
    costUsd: a.costUsd + b.costUsd,
    durationMs: a.durationMs + b.durationMs,
    byPurpose,
  }
}

/** One answered call, as reports show it. */
export interface TurnUsage {
  readonly input: number
  readonly output: number
}

/** "Turn 5 | Input: 1200, Output: 850 | Avg/turn: 1050 | Total: 5250" */
function turnLine(turns: number, last: TurnUsage, total: number): string {
  return `Turn ${turns} | Input: ${last.input}, Output: ${last.output} | Avg/turn: ${Math.floor(total / turns)} | Total: ${total}`
}

/** A call beside what the client sent. */
export interface SavingCall {
  readonly usage: Usage
  /** Tokens that the client sent and we did not; less than nothing where we added more than we took out. */
  readonly removed: number
  /** The same of the call before. */
  readonly removedBefore: number
  readonly cache?: CacheSeen
  /** A compaction was made with this call. */
  readonly isCompacted: boolean
}

/**
 * What a call cost less for us, in dollars; less than nothing where it cost more. This is the one definition: the log, pages, metrics and reports add
 * it up. It starts from what was billed. What was taken out would have been read from the cache at the price of that, unless the cache was gone
 * whatever we did; a result that was shown shorter from its first send on would have been written once. What a compaction made the provider write
 * again, it would have read. Tools that we declare are in what was sent. A summary, or a further step for a tool of ours, is a call that would not
 * have been made: it saves less than nothing, namely its cost.
 */
export function savedBy(call: SavingCall, price: PriceModel): number {
  const { usage, removed, removedBefore, cache, isCompacted } = call
  const miss = cache?.miss
  const rewritten = miss?.cause === 'ours' ? Math.min(miss.tokens, usage.input - usage.cacheRead) : 0
  const isCached = price.cacheRead !== undefined && (usage.cacheRead > 0 || usage.cacheWrite > 0 || rewritten > 0)
  // What came new with this call was in no cache; what a compaction took out was.
  const fresh = isCompacted || removed < 0 ? 0 : Math.max(0, Math.min(removed, removed - removedBefore))
  const isGone = cache === undefined || cache.expected === 0 || (miss !== undefined && miss.cause !== 'ours')
  const read = isCached && !isGone ? Math.max(0, usage.cacheRead + removed - fresh + rewritten) : usage.cacheRead
  const writes = isCached && usage.cacheWrite > 0
  const input = Math.max(0, usage.input + removed)
  const cacheWrite = writes ? Math.max(0, usage.cacheWrite - rewritten + fresh + (isGone ? removed - fresh : 0)) : 0
  const isLong = (usage.cacheWriteLong ?? 0) > 0
  const without: Usage = {
    ...usage,
    input,
    cacheRead: read,
    cacheWrite,
    cacheWriteLong: isLong ? cacheWrite : undefined,
  }
  return costOfUsage(without, price) - costOfUsage(usage, price)
}

import { costOfUsage, type PriceModel } from '../../core/price.ts'
import type { UsageSeen } from '../../core/records.ts'
import { addUsage, NO_USAGE, type Usage } from '../../core/usage.ts'
import { isKnownUsage } from '../usage.ts'
import type { Spender } from './budgets.ts'
import { turnLine, type TurnUsage } from './turns.ts'

export type CallPurpose = UsageSeen['purpose']

/** One model call, side calls included: whoever summarises spends too. */
export interface LedgerCall {
  readonly spender: Spender
  readonly model: string
  readonly purpose: CallPurpose
  /** Absent when the provider reported none. */
  readonly usage?: Usage
  readonly price?: PriceModel
  readonly durationMs?: number
}

export interface LedgerTotals {
  readonly calls: number
  /** Calls of which the provider reported no usage. */
  readonly unmeasured: number
  /** Measured calls of models without a known price. */
  readonly unpriced: number
  readonly usage: Usage
  readonly costUsd: number
  readonly durationMs: number
  readonly byPurpose: Readonly<Partial<Record<CallPurpose, number>>>
}

/** Which calls to add up; fields that are left out match all. */
export type LedgerFilter = Partial<Spender>

export interface Ledger {
  /** Adds a call and returns its cost, undefined when usage or price is unknown. */
  record(call: LedgerCall): number | undefined
  totals(filter?: LedgerFilter): LedgerTotals
  /** Totals of each agent of a session. */
  byAgent(tenant: string, session: string): ReadonlyMap<string, LedgerTotals>
  /** The line after a turn: "Turn 5 | Input: …". Side calls are no turns. */
  report(tenant: string, session: string): string
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

/** Sessions that are kept apart; older ones go on in their tenant's totals under this name. */
const MOST_SHEETS = 20_000
const FOLDED = '(older sessions)'

const EMPTY: LedgerTotals = {
  calls: 0,
  unmeasured: 0,
  unpriced: 0,
  usage: NO_USAGE,
  costUsd: 0,
  durationMs: 0,
  byPurpose: {},
}

export function createLedger(): Ledger {
  const sheets = new Map<string, Sheet>()
  let clock = 0

  function sheetOf(spender: Spender): Sheet {
    const key = JSON.stringify([spender.tenant, spender.session, spender.agent ?? '', spender.key ?? ''])
    const known = sheets.get(key)
    // Moved to the end on use, so that the first sheet is the one that rested longest.
    if (known !== undefined) sheets.delete(key)
    const sheet = known ?? { spender, totals: EMPTY, turns: 0, turnTokens: 0, last: undefined, lastAt: 0 }
    sheets.set(key, sheet)
    return sheet
  }

  function foldOldest(): void {
    if (sheets.size <= MOST_SHEETS) return
    for (const [key, { spender, totals }] of sheets) {
      if (spender.session === FOLDED) continue
      sheets.delete(key)
      const { agent: _, ...rest } = spender
      const rests = sheetOf({ ...rest, session: FOLDED })
      rests.totals = addTotals(rests.totals, totals)
      return
    }
  }

  const matching = (filter: LedgerFilter): Sheet[] =>
    [...sheets.values()].filter(({ spender }) =>
      (Object.keys(filter) as (keyof Spender)[]).every(
        (name) => filter[name] === undefined || spender[name] === filter[name],
      ),
    )

  return {
    record(call) {
      const { spender, usage, price } = call
      const sheet = sheetOf(spender)
      const known = isKnownUsage(usage)
      const cost = known && price !== undefined ? costOfUsage(usage, price) : undefined
      sheet.totals = addCall(sheet.totals, call, cost)
      if (call.purpose === 'turn' && known) {
        sheet.turns++
        sheet.turnTokens += usage.input + usage.output
        sheet.last = { input: usage.input, output: usage.output }
        sheet.lastAt = ++clock
      }
      foldOldest()
      return cost
    },
    totals: (filter = {}) => matching(filter).reduce((sum, { totals }) => addTotals(sum, totals), EMPTY),
    byAgent(tenant, session) {
      const agents = new Map<string, LedgerTotals>()
      for (const { spender, totals } of matching({ tenant, session })) {
        const agent = spender.agent ?? 'main'
        agents.set(agent, addTotals(agents.get(agent) ?? EMPTY, totals))
      }
      return agents
    },
    report(tenant, session) {
      const own = matching({ tenant, session }).sort((a, b) => a.lastAt - b.lastAt)
      const last = own.at(-1)?.last
      if (last === undefined) return 'No turns yet'
      const turns = own.reduce((sum, sheet) => sum + sheet.turns, 0)
      return turnLine(
        turns,
        last,
        own.reduce((sum, sheet) => sum + sheet.turnTokens, 0),
      )
    },
  }
}

function addCall(totals: LedgerTotals, call: LedgerCall, cost: number | undefined): LedgerTotals {
  const known = isKnownUsage(call.usage)
  return addTotals(totals, {
    calls: 1,
    unmeasured: known ? 0 : 1,
    unpriced: known && cost === undefined ? 1 : 0,
    usage: known ? call.usage : NO_USAGE,
    costUsd: cost ?? 0,
    durationMs: call.durationMs ?? 0,
    byPurpose: { [call.purpose]: cost ?? 0 },
  })
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

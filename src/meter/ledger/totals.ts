import type { UsageSeen } from '../../core/records.ts'
import { addUsage, NO_USAGE, type Usage } from '../../core/usage.ts'
import type { Writable } from '../../util/writable.ts'
import { isKnownUsage } from '../usage.ts'

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

export const NO_CALLS: LedgerTotals = {
  calls: 0,
  unmeasured: 0,
  unpriced: 0,
  usage: NO_USAGE,
  costUsd: 0,
  durationMs: 0,
  byPurpose: {},
}

/** Totals that calls are added to. Whoever is shown them gets a copy, by `addTotals`. */
export interface RunningTotals extends Writable<LedgerTotals> {
  readonly usage: Writable<Usage>
  readonly byPurpose: Partial<Record<CallPurpose, number>>
}

export const noCallsYet = (): RunningTotals => ({ ...NO_CALLS, usage: { ...NO_USAGE }, byPurpose: {} })

export function addCall(
  totals: RunningTotals,
  call: { readonly purpose: CallPurpose; readonly usage?: Usage; readonly durationMs?: number },
  costUsd: number | undefined,
): void {
  const { purpose, usage, durationMs = 0 } = call
  totals.calls++
  if (!isKnownUsage(usage)) totals.unmeasured++
  else {
    if (costUsd === undefined) totals.unpriced++
    addTokens(totals.usage, usage)
  }
  totals.durationMs += durationMs
  totals.costUsd += costUsd ?? 0
  totals.byPurpose[purpose] = (totals.byPurpose[purpose] ?? 0) + (costUsd ?? 0)
}

function addTokens(
  sum: Writable<Usage>,
  { input, cacheRead, cacheWrite, cacheWriteLong = 0, output, reasoning }: Usage,
): void {
  sum.input += input
  sum.cacheRead += cacheRead
  sum.cacheWrite += cacheWrite
  if (cacheWriteLong > 0) sum.cacheWriteLong = (sum.cacheWriteLong ?? 0) + cacheWriteLong
  sum.output += output
  sum.reasoning += reasoning
}

/** A sum of its own: it shares nothing with either. */
export function addTotals(a: LedgerTotals, b: LedgerTotals): RunningTotals {
  const byPurpose: Partial<Record<CallPurpose, number>> = { ...a.byPurpose }
  for (const purpose of Object.keys(b.byPurpose) as CallPurpose[]) {
    byPurpose[purpose] = (byPurpose[purpose] ?? 0) + (b.byPurpose[purpose] ?? 0)
  }
  return {
    calls: a.calls + b.calls,
    unmeasured: a.unmeasured + b.unmeasured,
    unpriced: a.unpriced + b.unpriced,
    usage: { ...addUsage(a.usage, b.usage) },
    costUsd: a.costUsd + b.costUsd,
    durationMs: a.durationMs + b.durationMs,
    byPurpose,
  }
}

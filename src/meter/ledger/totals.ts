import type { UsageSeen } from '../../core/records.ts'
import { addUsage, NO_USAGE, type Usage } from '../../core/usage.ts'
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

/** The totals of one call. */
export function totalsOf(
  call: { readonly purpose: CallPurpose; readonly usage?: Usage; readonly durationMs?: number },
  costUsd: number | undefined,
): LedgerTotals {
  const known = isKnownUsage(call.usage)
  return {
    calls: 1,
    unmeasured: known ? 0 : 1,
    unpriced: known && costUsd === undefined ? 1 : 0,
    usage: known ? call.usage : NO_USAGE,
    costUsd: costUsd ?? 0,
    durationMs: call.durationMs ?? 0,
    byPurpose: { [call.purpose]: costUsd ?? 0 },
  }
}

export function addTotals(a: LedgerTotals, b: LedgerTotals): LedgerTotals {
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

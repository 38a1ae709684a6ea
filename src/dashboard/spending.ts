import { addUsage, NO_USAGE } from '../core/usage.ts'
import type { FoldedLog } from '../meter/session/log.ts'
import type { MeterRow, SpendingPage, SpendingRow } from './page-types.ts'

type Sum = { calls: number; usage: SpendingRow['usage']; costUsd: number; unpriced: number }

type Split = 'byDay' | 'byModel' | 'byAgent' | 'byKey'

/** Sums of the calls of one or more sessions. */
export class Spending {
  readonly #splits: Readonly<Record<Split, Map<string, Sum>>> = {
    byDay: new Map(),
    byModel: new Map(),
    byAgent: new Map(),
    byKey: new Map(),
  }
  readonly #ratios = new Map<string, number[]>()
  readonly #total: Sum = { calls: 0, usage: NO_USAGE, costUsd: 0, unpriced: 0 }
  #sessions = 0

  add({ calls }: FoldedLog, tenant: string): void {
    if (calls.length > 0) this.#sessions++
    for (const { at, model, agent = 'main', key = tenant, usage = NO_USAGE, ...call } of calls) {
      const { costUsd = 0, estimated, purpose, measured } = call
      const one = { calls: 1, usage, costUsd, unpriced: call.costUsd === undefined ? 1 : 0 }
      grow(this.#total, one)
      const { byDay, byModel, byAgent, byKey } = this.#splits
      grow(entry(byDay, new Date(at).toISOString().slice(0, 10)), one)
      grow(entry(byModel, model), one)
      grow(entry(byAgent, agent), one)
      grow(entry(byKey, key), one)
      if (purpose !== 'turn' || measured === undefined || usage.input === 0 || estimated === 0) continue
      this.#ratiosOf(model).push(usage.input / estimated)
    }
  }

  join(other: Spending): void {
    this.#sessions += other.#sessions
    grow(this.#total, other.#total)
    for (const [split, sums] of Object.entries(other.#splits))
      for (const [name, sum] of sums) grow(entry(this.#splits[split as Split], name), sum)
    for (const [model, found] of other.#ratios) for (const ratio of found) this.#ratiosOf(model).push(ratio)
  }

  #ratiosOf(model: string): number[] {
    const ratios = this.#ratios.get(model) ?? []
    this.#ratios.set(model, ratios)
    return ratios
  }

  page({ budgets, quotas }: Pick<SpendingPage, 'budgets' | 'quotas'>): SpendingPage {
    const mostExpensive = (sums: ReadonlyMap<string, Sum>): SpendingRow[] =>
      rows(sums).sort((a, b) => b.costUsd - a.costUsd || b.usage.input - a.usage.input)
    return {
      byDay: rows(this.#splits.byDay).sort((a, b) => a.name.localeCompare(b.name)),
      byModel: mostExpensive(this.#splits.byModel),
      byAgent: mostExpensive(this.#splits.byAgent),
      byKey: mostExpensive(this.#splits.byKey),
      total: this.#total,
      sessions: this.#sessions,
      unpricedModels: rows(this.#splits.byModel).flatMap(({ name, unpriced }) => (unpriced > 0 ? [name] : [])),
      budgets,
      quotas,
    }
  }

  meter(): readonly MeterRow[] {
    return Array.from(this.#ratios, ([model, ratios]) => {
      const sorted = ratios.toSorted((a, b) => a - b)
      const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!
      return { model, calls: ratios.length, ratio: { low: at(0.05), median: at(0.5), high: at(0.95) } }
    }).sort((a, b) => b.calls - a.calls)
  }
}

function entry(sums: Map<string, Sum>, name: string): Sum {
  let sum = sums.get(name)
  if (sum === undefined) sums.set(name, (sum = { calls: 0, usage: NO_USAGE, costUsd: 0, unpriced: 0 }))
  return sum
}

function grow(sum: Sum, { calls, usage, costUsd, unpriced }: Sum): void {
  sum.calls += calls
  sum.usage = addUsage(sum.usage, usage)
  sum.costUsd += costUsd
  sum.unpriced += unpriced
}

const rows = (sums: ReadonlyMap<string, Sum>): SpendingRow[] => Array.from(sums, ([name, sum]) => ({ name, ...sum }))

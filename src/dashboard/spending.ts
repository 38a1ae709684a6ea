import { addUsage, NO_USAGE } from '../core/usage.ts'
import type { FoldedLog } from './session-log.ts'
import type { MeterRow, SpendingPage, SpendingRow } from './page-types.ts'

type Sum = { calls: number; usage: SpendingRow['usage']; costUsd: number }

/** Adds up the calls of many sessions. One of a single session is small enough to be kept. */
export class Spending {
  readonly #byDay = new Map<string, Sum>()
  readonly #byModel = new Map<string, Sum>()
  readonly #byAgent = new Map<string, Sum>()
  readonly #byKey = new Map<string, Sum>()
  readonly #ratios = new Map<string, number[]>()
  readonly #total: Sum = { calls: 0, usage: NO_USAGE, costUsd: 0 }
  #sessions = 0

  add({ calls }: FoldedLog, tenant: string): void {
    if (calls.length > 0) this.#sessions++
    for (const {
      at,
      model,
      agent = 'main',
      key = tenant,
      usage = NO_USAGE,
      costUsd = 0,
      estimated,
      purpose,
      measured,
    } of calls) {
      const call = { usage, costUsd }
      grow(this.#total, call)
      grow(entry(this.#byDay, new Date(at).toISOString().slice(0, 10)), call)
      grow(entry(this.#byModel, model), call)
      grow(entry(this.#byAgent, agent), call)
      grow(entry(this.#byKey, key), call)
      if (purpose !== 'turn' || measured === undefined || usage.input === 0 || estimated === 0) continue
      const ratios = this.#ratios.get(model) ?? []
      this.#ratios.set(model, ratios)
      ratios.push(usage.input / estimated)
    }
  }

  /** Adds what another one has added up. */
  join(other: Spending): void {
    this.#sessions += other.#sessions
    growBy(this.#total, other.#total)
    const pairs = [
      [this.#byDay, other.#byDay],
      [this.#byModel, other.#byModel],
      [this.#byAgent, other.#byAgent],
      [this.#byKey, other.#byKey],
    ] as const
    for (const [own, others] of pairs) for (const [name, sum] of others) growBy(entry(own, name), sum)
    for (const [model, found] of other.#ratios) {
      const ratios = this.#ratios.get(model) ?? []
      this.#ratios.set(model, ratios)
      for (const ratio of found) ratios.push(ratio)
    }
  }

  page(budgets: SpendingPage['budgets']): SpendingPage {
    const dearest = (sums: ReadonlyMap<string, Sum>): SpendingRow[] =>
      rows(sums).sort((a, b) => b.costUsd - a.costUsd || b.usage.input - a.usage.input)
    return {
      byDay: rows(this.#byDay).sort((a, b) => a.name.localeCompare(b.name)),
      byModel: dearest(this.#byModel),
      byAgent: dearest(this.#byAgent),
      byKey: dearest(this.#byKey),
      total: this.#total,
      sessions: this.#sessions,
      budgets,
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
  if (sum === undefined) sums.set(name, (sum = { calls: 0, usage: NO_USAGE, costUsd: 0 }))
  return sum
}

const grow = (sum: Sum, call: Pick<Sum, 'usage' | 'costUsd'>): void => growBy(sum, { calls: 1, ...call })

function growBy(sum: Sum, { calls, usage, costUsd }: Sum): void {
  sum.calls += calls
  sum.usage = addUsage(sum.usage, usage)
  sum.costUsd += costUsd
}

const rows = (sums: ReadonlyMap<string, Sum>): SpendingRow[] => Array.from(sums, ([name, sum]) => ({ name, ...sum }))

import { addUsage, type Usage } from '../../core/usage.ts'
import type { Slice } from './by-kind.ts'
import type { Inspection } from './inspect.ts'
import type { Saving } from './savings.ts'

/** Many sessions together. */
export interface Overview {
  readonly sessions: number
  readonly calls: number
  readonly tokens: number
  readonly sentTokens: number
  readonly slices: readonly Slice[]
  readonly savings: readonly Saving[]
  readonly usage?: Usage
  /** Of the sessions whose price is known. */
  readonly costUsd?: number
}

export function overviewOf(inspections: readonly Inspection[]): Overview {
  const slices = merged(
    inspections.flatMap((inspection) => inspection.slices),
    ({ kind, tool }) => `${kind} ${tool ?? ''}`,
    (a, b) => ({
      ...a,
      items: a.items + b.items,
      tokens: a.tokens + b.tokens,
      sentTokens: a.sentTokens + b.sentTokens,
    }),
  )
  const savings = merged(
    inspections.flatMap((inspection) => inspection.savings),
    ({ step }) => step,
    (a, b) => ({ ...a, items: a.items + b.items, sentTokens: a.sentTokens + b.sentTokens }),
  )
  const usages = inspections.flatMap(({ usage }) => (usage === undefined ? [] : [usage]))
  const costs = inspections.flatMap(({ costUsd }) => (costUsd === undefined ? [] : [costUsd]))
  const total = (field: 'calls' | 'tokens' | 'sentTokens') => inspections.reduce((sum, one) => sum + one[field], 0)
  return {
    sessions: inspections.length,
    calls: total('calls'),
    tokens: total('tokens'),
    sentTokens: total('sentTokens'),
    slices,
    savings,
    ...(usages.length > 0 && { usage: usages.reduce(addUsage) }),
    ...(costs.length > 0 && { costUsd: costs.reduce((sum, cost) => sum + cost, 0) }),
  }
}

/** Largest first. */
function merged<T extends { readonly sentTokens: number }>(
  all: readonly T[],
  keyOf: (value: T) => string,
  add: (a: T, b: T) => T,
): readonly T[] {
  const byKey = new Map<string, T>()
  for (const value of all) {
    const known = byKey.get(keyOf(value))
    byKey.set(keyOf(value), known === undefined ? value : add(known, value))
  }
  return [...byKey.values()].sort((a, b) => b.sentTokens - a.sentTokens)
}

import type { PriceModel } from '../core/price.ts'
import { unmanagedCost } from '../meter/index.ts'
import type { PageCall } from './page-types.ts'

export type PriceOf = (model: string) => PriceModel | undefined

/**
 * What the calls would have cost with everything sent each time, less what they did cost. Summaries that were paid for count against it.
 * Undefined when a price is missing.
 */
export function savedBy(calls: readonly PageCall[], priceOf: PriceOf): number | undefined {
  let saved = 0
  let previous: PageCall | undefined
  for (const call of calls) {
    if (call.usage === undefined) continue
    const price = priceOf(call.model)
    if (price === undefined || call.costUsd === undefined) return undefined
    if (call.purpose === 'turn') {
      saved += unmanagedCost(call, previous, price)
      previous = call
    }
    saved -= call.costUsd
  }
  return saved
}

import { costOfUsage, simulateUsage, type PriceModel } from '../../core/price.ts'
import type { PageCall } from './page-types.ts'

export type PriceOf = (model: string) => PriceModel | undefined

/**
 * What the calls would have cost with everything sent each time, less what they did cost. Each prompt without compactions begins with
 * the one before it, so all of that is read from the cache while the cache lives. Summaries that were paid for count against it.
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
      saved += unmanaged(call, previous, price)
      previous = call
    }
    saved -= call.costUsd
  }
  return saved
}

function unmanaged(call: PageCall, previous: PageCall | undefined, price: PriceModel): number {
  // Until something was taken out, what was paid is what it would have cost.
  if (call.original === call.prompt && (previous === undefined || previous.original === previous.prompt))
    return call.costUsd ?? 0
  const usage = simulateUsage(
    {
      tokens: call.original,
      commonPrefixTokens: previous === undefined ? 0 : Math.min(previous.original, call.original),
      outputTokens: call.usage?.output ?? 0,
      elapsedSeconds: previous === undefined ? 0 : Math.max(0, call.at - previous.at) / 1000,
    },
    price,
  )
  return costOfUsage(usage, price)
}

import { costOfUsage, simulateUsage, type PriceModel } from '../../core/price.ts'
import type { Usage } from '../../core/usage.ts'

/** A call beside what it would have been with everything sent. */
export interface ManagedCall {
  readonly at: number
  /** Tokens of the prompt as it was sent, and with all that was taken out of it. */
  readonly prompt: number
  readonly original: number
  readonly usage?: Usage
  readonly costUsd?: number
}

/**
 * What a call would have cost with everything sent each time. Each such prompt begins with the one before it, so all of that is read from
 * the cache while the cache lives.
 */
export function unmanagedCost(call: ManagedCall, previous: ManagedCall | undefined, price: PriceModel): number {
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

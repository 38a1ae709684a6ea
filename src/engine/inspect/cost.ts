import { costOfUsage, simulateUsage, type PriceModel } from '../../core/price.ts'
import type { Usage } from '../../core/usage.ts'
import type { Growth } from './growth.ts'

export interface SessionCost {
  readonly usd: number
  /** From the usage that the provider reported for every call; otherwise as if each prompt found the one before it in the cache. */
  readonly isReported: boolean
}

/** What a session cost, prompts and answers. */
export function sessionCost(
  calls: readonly { readonly usage?: Usage }[],
  { points, compactedBefore }: Growth,
  price: PriceModel,
): SessionCost {
  const isReported = calls.every(({ usage }) => usage !== undefined)
  const fresh = new Set(compactedBefore)
  const usd = calls.reduce((sum, { usage }, call) => {
    const { load: tokens } = points[call]!
    const before = call === 0 || fresh.has(call) ? 0 : Math.min(points[call - 1]!.load, tokens)
    const estimated = { tokens, commonPrefixTokens: before, outputTokens: 0, elapsedSeconds: 0 }
    return sum + costOfUsage(usage ?? simulateUsage(estimated, price), price)
  }, 0)
  return { usd, isReported }
}

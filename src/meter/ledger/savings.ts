import type { CacheSeen } from '../../core/cache.ts'
import { costOfUsage, type PriceModel } from '../../core/price.ts'
import type { Usage } from '../../core/usage.ts'

/** A call beside what the client sent. */
export interface SavingCall {
  readonly usage: Usage
  /** Tokens that the client sent and we did not; less than nothing where we added more than we took out. */
  readonly removed: number
  /** The same of the call before. */
  readonly removedBefore: number
  readonly cache?: CacheSeen
  /** A compaction was made with this call. */
  readonly isCompacted: boolean
}

/**
 * What a call cost less for us, in dollars; less than nothing where it cost more. This is the one definition: the log, pages, metrics and reports add
 * it up. It starts from what was billed. What was taken out would have been read from the cache at the price of that, unless the cache was gone
 * whatever we did; a result that was shown shorter from its first send on would have been written once. What a compaction made the provider write
 * again, it would have read. Tools that we declare are in what was sent. A summary, or a further step for a tool of ours, is a call that would not
 * have been made: it saves less than nothing, namely its cost.
 */
export function savedBy(call: SavingCall, price: PriceModel): number {
  const { usage, removed, removedBefore, cache, isCompacted } = call
  const miss = cache?.miss
  const rewritten = miss?.cause === 'ours' ? Math.min(miss.tokens, usage.input - usage.cacheRead) : 0
  const isCached = price.cacheRead !== undefined && (usage.cacheRead > 0 || usage.cacheWrite > 0 || rewritten > 0)
  // What came new with this call was in no cache; what a compaction took out was.
  const fresh = isCompacted || removed < 0 ? 0 : Math.max(0, Math.min(removed, removed - removedBefore))
  const isGone = cache === undefined || cache.expected === 0 || (miss !== undefined && miss.cause !== 'ours')
  const read = isCached && !isGone ? Math.max(0, usage.cacheRead + removed - fresh + rewritten) : usage.cacheRead
  const writes = isCached && usage.cacheWrite > 0
  const input = Math.max(0, usage.input + removed)
  const cacheWrite = writes ? Math.max(0, usage.cacheWrite - rewritten + fresh + (isGone ? removed - fresh : 0)) : 0
  const isLong = (usage.cacheWriteLong ?? 0) > 0
  const without: Usage = {
    ...usage,
    input,
    cacheRead: read,
    cacheWrite,
    cacheWriteLong: isLong ? cacheWrite : undefined,
  }
  return costOfUsage(without, price) - costOfUsage(usage, price)
}

import type { Item } from '../../core/item.ts'
import type { Policy } from '../../core/policy.ts'
import type { Limit, Load } from '../../core/target.ts'
import { designOf } from '../presets/design.ts'

/** The load at which reduction starts, in tokens: the share `water.high` of the limit, or what the preset says. */
export function highWater(policy: Policy, limit: Limit, cacheIsWarm = false): number {
  const { water } = policy
  const line = designOf(policy).highWater?.(limit, water, cacheIsWarm) ?? Math.floor(water.high * limit.tokens)
  return Math.min(line, water.highTokens ?? Infinity, limit.tokens)
}

/**
 * Of what everything that stays leaves of the limit, a reduction does not aim below this share, or below the policy's own where that is less: behind a
 * long task it would leave no room for its record.
 */
const LEAST_OF_REST = 0.4

/**
 * The load that a reduction aims at. `fixedTokens`: instructions and tools, which no reduction touches; `keptTokens`: these and all else that stays,
 * such as a long task.
 */
export function lowWater(policy: Policy, limit: Limit, fixedTokens = 0, keptTokens = fixedTokens): number {
  const { water } = policy
  const most = water.lowTokens ?? Infinity
  const own = designOf(policy).lowWater?.(limit, water)
  if (own !== undefined || water.lowOf !== 'history') return Math.min(own ?? water.low * limit.tokens, most)
  const fixed = Math.min(fixedTokens, limit.tokens)
  // A head is read from the cache with every call anyway: the more there is of it, the less a deep cut behind it saves, until it leaves so little
  // that only depth brings calls between two cuts.
  const share = fixed / limit.tokens
  const low = water.low + (1 - water.low) * share * (1 - share)
  const rest = Math.min(LEAST_OF_REST, water.low) * Math.max(0, limit.tokens - keptTokens)
  const least = Math.min(keptTokens + rest, highWater(policy, limit))
  return Math.min(Math.max(fixed + low * (limit.tokens - fixed), least), most)
}

/** What `thrift` plans for: as much as a window of this size. Less would lose more of what the next answers quote than it saves. */
const THRIFT_ROOM = 58_000
/** Of that, what has to stay anyway takes this share at most: nothing in view is shortened for the price. */
const MOST_STAYING = 0.5

/** The room that a reduction plans for: the limit, or under `thrift` what is worth reading again with every call. */
export function planRoom({ aim, priceGate }: Policy, limit: Limit, stayingTokens: number): number {
  if (aim !== 'thrift' || priceGate !== true) return limit.tokens
  return Math.min(limit.tokens, Math.max(THRIFT_ROOM, stayingTokens / MOST_STAYING))
}

/** Which number is held against high water: a preset's own estimate, where it has one, else the upper bound. */
export const decidingCount = (policy: Policy): 'high' | 'tokens' =>
  designOf(policy).meter === undefined ? 'high' : 'tokens'

/** Whether a load has reached high water. */
export function isHigh(policy: Policy, limit: Limit, { count }: Load, cacheIsWarm: boolean): boolean {
  const load = count[decidingCount(policy)]
  const line = highWater(policy, limit, cacheIsWarm)
  return designOf(policy).startsAtHighWater === true ? load >= line : load > line
}

/** Items by the wire message they stand in, in order; each item that we inserted is a message of its own. */
export function messagesOf(items: readonly Item[]): Item[][] {
  const messages: Item[][] = []
  for (const item of items) {
    const last = messages.at(-1)
    if (last !== undefined && item.message >= 0 && last[0]!.message === item.message) last.push(item)
    else messages.push([item])
  }
  return messages
}

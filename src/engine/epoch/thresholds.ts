import type { RequestSettings } from '../../core/conversation.ts'
import type { Item } from '../../core/item.ts'
import type { Policy } from '../../core/policy.ts'
import type { Limit, Load } from '../../core/target.ts'
import type { WireTraits } from '../../core/wire-traits.ts'

/** Never above this, whatever a warm cache adds. */
const CEILING = 0.98

const baseOf = ({ water }: Policy, limit: Limit): number => (water.of === 'window' ? limit.window : limit.tokens)

/** Tokens below the window at which high water stands, for policies that say it so. */
export function marginOf({ water }: Policy, { window, tokens }: Limit): number {
  const { margin } = water
  if (margin === undefined) return window - tokens
  return window >= margin.from ? margin.tokens : Math.floor(window * margin.share)
}

/** The load at which reduction starts, in tokens. */
export function highWater(policy: Policy, limit: Limit, cacheIsWarm = false): number {
  const { water } = policy
  const relax = cacheIsWarm ? (water.cacheRelax ?? 0) : 0
  const share = relax === 0 ? water.high : Math.min(CEILING, water.high + relax)
  const line =
    water.margin === undefined ? Math.floor(share * baseOf(policy, limit)) : limit.window - marginOf(policy, limit)
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
  const ofHistory = water.lowOf === 'history'
  const fixed = ofHistory ? Math.min(fixedTokens, limit.tokens) : 0
  const base = baseOf(policy, limit)
  // A head is read from the cache with every call anyway: the more there is of it, the less a deep cut behind it saves, until it leaves so little
  // that only depth brings calls between two cuts.
  const share = fixed / base
  const low = water.low + (1 - water.low) * share * (1 - share)
  const rest = Math.min(LEAST_OF_REST, water.low) * Math.max(0, base - keptTokens)
  const least = ofHistory ? Math.min(keptTokens + rest, highWater(policy, limit)) : 0
  return Math.min(Math.max(fixed + low * (base - fixed), least), water.lowTokens ?? Infinity)
}

/** Whether a load has reached high water. */
export function isHigh(policy: Policy, limit: Limit, { count }: Load, cacheIsWarm: boolean): boolean {
  const { by = 'high', inclusive = false } = policy.water
  const line = highWater(policy, limit, cacheIsWarm)
  return inclusive ? count[by] >= line : count[by] > line
}

/** The settings with the reserve that the policy holds back in place of the request's own. `wire`: undefined while no request is there. */
export function reserved(
  policy: Policy,
  wire: Pick<WireTraits, 'windowHoldsAnswer'> | undefined,
  settings: RequestSettings,
  window: number,
): RequestSettings {
  const { reserve = 'request' } = policy
  if (reserve === 'request' || reserve === 'quarter') return settings
  const asked = wire?.windowHoldsAnswer === true ? (settings.maxOutputTokens ?? 0) : 0
  return { ...settings, maxOutputTokens: reserve === 'wire' ? asked : Math.max(asked, Math.floor(window * reserve)) }
}

/** Wire messages behind the newest one of ours; all of them where there is none. */
export const messagesSinceSummary = (items: readonly Item[]): number =>
  messagesOf(items.slice(items.findLastIndex(({ message }) => message < 0) + 1))

/** Wire messages in a view; each message of ours counts as one. */
export function messagesOf(items: readonly Item[]): number {
  let count = 0
  let last: number | undefined
  for (const { message } of items) {
    if (message < 0 || message !== last) count++
    last = message
  }
  return count
}

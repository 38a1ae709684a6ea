import type { Branch } from './branch.ts'
import type { EngineDeps } from './deps.ts'
import { highWater } from './water.ts'

export interface SessionStatus {
  readonly model?: string
  /** Upper bound of the last request's load, in tokens. */
  readonly used: number
  readonly limit: number
  readonly available: number
  readonly percent: number
  /** Load at which the next reduction starts. */
  readonly threshold: number
  /** Calls until then at the pace of the session so far; absent without enough history. */
  readonly turnsRemaining?: number
  readonly turns: number
  readonly epoch?: string
  readonly pins: number
}

export function statusOf(deps: EngineDeps, branch: Branch): SessionStatus {
  const used = Math.ceil(branch.load?.count.high ?? 0)
  const limit = branch.limit?.tokens ?? 0
  const threshold =
    branch.limit === undefined ? 0 : Math.floor(highWater(deps.policy, branch.limit, branch.cacheIsWarm))
  const turnsRemaining = turnsUntil(threshold - used, branch.growth)
  return {
    ...(branch.model !== undefined && { model: branch.model }),
    used,
    limit,
    available: Math.max(0, limit - used),
    percent: limit === 0 ? 0 : Math.round((1000 * used) / limit) / 10,
    threshold,
    ...(turnsRemaining !== undefined && { turnsRemaining }),
    turns: branch.turnCount,
    ...(branch.epoch !== undefined && { epoch: branch.epoch.id }),
    pins: branch.pins.size,
  }
}

/** From the growth of the load, not from the sum of prompts: that sum grows even when nothing is added. */
export function turnsUntil(tokens: number, growth: readonly number[]): number | undefined {
  if (growth.length < 2) return undefined
  const mean = growth.reduce((sum, one) => sum + one, 0) / growth.length
  return mean <= 0 ? undefined : Math.max(0, Math.floor(tokens / mean))
}

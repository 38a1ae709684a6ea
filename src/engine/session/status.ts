import type { BudgetStanding, LedgerTotals, TurnUsage } from '../../meter/index.ts'
import { limitOf, modelOf, spenderOf, type Branch } from './branch/branch.ts'
import type { EngineDeps } from '../deps.ts'
import { highWater } from '../epoch/thresholds.ts'

export interface SessionStatus {
  readonly model?: string
  /** Upper bound of what the next request holds so far: the last one, and what its provider counted of it and of the answer. */
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
  /** All calls of the session, of every agent and every process, summaries included. */
  readonly spent: LedgerTotals
  /** Input and output of the last turn, and the average of all. */
  readonly lastTurn?: TurnUsage & { readonly average: number }
  /** "Turn 5 | Input: …", or that there were none. */
  readonly report: string
  /** How the budgets stand that this session draws on. */
  readonly budgets: readonly BudgetStanding[]
}

export async function statusOf(deps: EngineDeps, branch: Branch): Promise<SessionStatus> {
  const { log, requests, standing } = branch
  const model = modelOf(branch)
  const used = Math.ceil(Math.max(requests.last?.load.count.high ?? 0, answeredTokens(branch)))
  const lastLimit = limitOf(branch)
  const limit = lastLimit?.tokens ?? 0
  const threshold = lastLimit === undefined ? 0 : Math.floor(highWater(deps.policy, lastLimit, log.cacheIsWarm))
  const lastTurn = log.calls.lastTurn(branch.tenant, branch.session)
  const turnsRemaining = turnsUntil(threshold - used, requests.growth)
  return {
    ...(model !== undefined && { model }),
    used,
    limit,
    available: Math.max(0, limit - used),
    percent: limit === 0 ? 0 : Math.round((1000 * used) / limit) / 10,
    threshold,
    ...(turnsRemaining !== undefined && { turnsRemaining }),
    turns: Math.max(log.turns, branch.turns.count),
    ...(standing.epoch !== undefined && { epoch: standing.epoch.id }),
    pins: log.pins.size,
    spent: log.calls.totals(),
    ...(lastTurn !== undefined && { lastTurn }),
    report: log.calls.report(branch.tenant, branch.session),
    budgets: (await deps.budgets?.standing(spenderOf(branch), deps.clock.now(), deps.policyBudgets)) ?? [],
  }
}

/** Input and output of the last request, once its answer was counted. */
function answeredTokens({ log: { measured }, requests: { last } }: Branch): number {
  const isLast = measured !== undefined && measured.chain === last?.links.at(-1)?.chain
  return isLast ? measured.prompt + measured.output : 0
}

/** From the growth of the load, not from the sum of prompts: that sum grows even when nothing is added. */
export function turnsUntil(tokens: number, growth: readonly number[]): number | undefined {
  if (growth.length < 2) return undefined
  const mean = growth.reduce((sum, one) => sum + one, 0) / growth.length
  return mean <= 0 ? undefined : Math.max(0, Math.floor(tokens / mean))
}

import type { BudgetStanding, LedgerTotals, TurnUsage } from '../../meter/index.ts'
import { limitOf, modelOf, spenderOf, type Branch, type ChainedItems } from './branch.ts'
import type { EngineDeps } from '../deps.ts'
import { highWater } from '../epoch/thresholds.ts'

export interface SessionStatus {
  readonly model?: string
  /** How full the next request is, in tokens: what was measured of the last one and its answer, and what came since; else an upper bound. */
  readonly used: number
  readonly limit: number
  readonly available: number
  /** Share of `limit` that is used. */
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
  const used = nextLoad(branch)
  const lastLimit = limitOf(branch)
  const limit = lastLimit?.tokens ?? 0
  const threshold = lastLimit === undefined ? 0 : Math.floor(highWater(deps.policy, lastLimit, log.cacheIsWarm))
  const lastTurn = log.calls.lastTurn(branch.tenant, branch.session)
  const turnsRemaining = turnsUntil(threshold - used, requests.growth)
  return {
    model,
    used,
    limit,
    available: Math.max(0, limit - used),
    percent: limit === 0 ? 0 : Math.round((1000 * used) / limit) / 10,
    threshold,
    turnsRemaining,
    turns: Math.max(log.turns, branch.turns.count),
    epoch: standing.epoch?.id,
    pins: log.pins.size,
    spent: log.calls.totals(),
    lastTurn,
    report: log.calls.report(branch.tenant, branch.session),
    budgets: (await deps.budgets?.standing(spenderOf(branch), deps.clock.now(), deps.policyBudgets)) ?? [],
  }
}

/** The last prompt and its answer come back with the next request; results that were shown since are added to it. */
function nextLoad({ log, requests, toolUse }: Branch): number {
  const { measured } = log
  const { last } = requests
  const isMeasured = measured !== undefined && (last === undefined || last.links.at(-1)?.chain === measured.chain)
  const known = isMeasured ? measured.prompt + measured.output : Math.ceil(last?.load.count.high ?? 0)
  return known + Math.ceil(toolUse.turn?.all ?? 0)
}

/** From the growth of the load, not from the sum of prompts: that sum grows even when nothing is added. */
export function turnsUntil(tokens: number, growth: readonly number[]): number | undefined {
  if (growth.length < 2) return undefined
  const mean = growth.reduce((sum, one) => sum + one, 0) / growth.length
  return mean <= 0 ? undefined : Math.max(0, Math.floor(tokens / mean))
}

/** What a person sees of an item when choosing what to pin. */
export interface SeenItem {
  readonly identity: string
  readonly kind: string
  readonly toolName?: string
  /** The first characters. */
  readonly excerpt: string
}

/** Items of the last request. */
export const seenItems = ({ items, links }: ChainedItems): SeenItem[] =>
  links.map(({ identity, index }) => {
    const { kind, toolName, text } = items[index]!
    return { identity, kind, toolName, excerpt: text.slice(0, 80) }
  })

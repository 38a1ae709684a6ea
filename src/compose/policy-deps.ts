import type { Policy } from '../core/policy.ts'
import { amendedCatalogue } from '../drivers/catalogue/amended.ts'
import type { EngineDeps } from '../engine/deps.ts'
import type { Budget } from '../meter/index.ts'

/** A policy's budget lets the call that passes it through, as its design does. */
export const sessionTokens = (policy: string, hard: number): Budget => ({
  name: `${policy} session tokens`,
  scope: 'session',
  unit: 'tokens',
  hard,
  enforce: 'settled',
})

/** An agent's own window, for targets that name none. */
export function withWindow(deps: EngineDeps, window: number | undefined): EngineDeps {
  if (window === undefined) return deps
  const { meter } = deps
  return { ...deps, meter: { ...meter, limitOf: (target, ...rest) => meter.limitOf({ window, ...target }, ...rest) } }
}

/** A design's documented prices, for what is billed, reserved and reported under it. */
export function withPrices(deps: EngineDeps, prices: Policy['prices']): EngineDeps {
  if (prices === undefined) return deps
  const catalogue = amendedCatalogue(deps.catalogue, { prices })
  return { ...deps, catalogue, meter: { ...deps.meter, factsOf: (model) => catalogue.resolve(model).info } }
}

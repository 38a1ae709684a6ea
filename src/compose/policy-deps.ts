import type { EventBody } from '../core/events.ts'
import type { Policy } from '../core/policy.ts'
import { amendedCatalogue } from '../drivers/catalogue/catalogue.ts'
import type { EngineDeps } from '../engine/deps.ts'
import { checkSteps, designOf } from '../engine/presets/design.ts'
import type { BudgetBook } from '../engine/spending/budget-book.ts'
import type { Budget } from '../meter/index.ts'
import type { OpenTokenizers } from './open/tokenizers.ts'

/** A policy's budget lets the call that passes it through, as its design does. */
const sessionTokens = (policy: string, hard: number): Budget => ({
  name: `${policy} session tokens`,
  scope: 'session',
  unit: 'tokens',
  hard,
  enforce: 'settled',
})

/** An agent's own window, for targets that name none. */
function withWindow(deps: EngineDeps, window: number | undefined): EngineDeps {
  if (window === undefined) return deps
  const { meter } = deps
  const own: typeof meter.limitOf = (target, ...rest) =>
    meter.limitOf({ ...target, window: target.window ?? window }, ...rest)
  return { ...deps, meter: { ...meter, limitOf: own } }
}

/** A design's documented prices, for what is billed, reserved and reported under it. */
function withPrices(deps: EngineDeps, prices: Policy['prices']): EngineDeps {
  if (prices === undefined) return deps
  const catalogue = amendedCatalogue(deps.catalogue, { prices })
  return { ...deps, catalogue, meter: { ...deps.meter, factsOf: (model) => catalogue.resolve(model).info } }
}

/** What a session under a policy is given beside the engine's own parts. */
export interface UnderPolicy {
  /** An agent's own window. */
  readonly window?: number | undefined
  /** Where spending is booked, and whether anything but the policy limits it. */
  readonly book: BudgetBook
  readonly isLimited: boolean
  readonly hasSandbox: boolean
  readonly tokenizers: OpenTokenizers
  readonly onEvent: (body: EventBody) => void
}

/** The engine's parts as a policy wants them. */
export async function depsUnder(all: EngineDeps, policy: Policy, given: UnderPolicy): Promise<EngineDeps> {
  checkSteps(policy)
  const { estimator = {}, tokenBudget } = policy
  const deps = withPrices(withWindow(all, given.window), policy.prices)
  const policyBudgets = tokenBudget === undefined ? undefined : [sessionTokens(policy.name, tokenBudget)]
  const common: EngineDeps = {
    ...deps,
    policy: given.hasSandbox ? policy : withoutAnalysis(policy),
    ...((policyBudgets !== undefined || given.isLimited) && { budgets: given.book }),
    ...(policyBudgets !== undefined && { policyBudgets }),
  }
  const { meter } = designOf(policy)
  if (meter === undefined) return common
  const tokenizerOf = await given.tokenizers.ofDesign(Object.values(estimator.tokenizers ?? {}))
  const { onEvent } = given
  const own = meter(deps.meter, estimator, { tokenizerOf, onEvent })
  return { ...common, meter: { ...deps.meter, ...own } }
}

/** A design may tie its analysis to a sandbox. */
function withoutAnalysis(policy: Policy): Policy {
  const { intake } = policy
  return intake.guard === undefined
    ? policy
    : { ...policy, intake: { ...intake, guard: { sandbox: false, ...intake.guard } } }
}

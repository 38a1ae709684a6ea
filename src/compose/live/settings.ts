import { randomUUID } from 'node:crypto'
import type { EventBody } from '../../core/events.ts'
import type { Policy } from '../../core/policy.ts'
import { amendedCatalogue } from '../../drivers/catalogue/catalogue.ts'
import { checkSteps, designOf } from '../../engine/presets/design.ts'
import type { EngineDeps } from '../../engine/deps.ts'
import { createBudgetBook, type BudgetBook } from '../../engine/spending/budget-book.ts'
import { createBudgets, type Budget } from '../../meter/index.ts'
import type { LiveOptions, PlimsollOptions } from '../../settings/options.ts'
import type { Foundation } from '../open/foundation.ts'
import { checkLiveOptions, policyIn } from '../named-policies.ts'
import { once } from '../../util/once.ts'
import type { OpenTokenizers } from '../open/models.ts'

/** The settings that can change while requests are running, and the engine's parts under them. */
export interface LiveSettings {
  options(): LiveOptions
  /** The window of an agent's requests, if the options set one. */
  windowOf(agent: string): number | undefined
  /** The engine's parts for a session of an agent, under its policy or a named one, by the settings at the time of the call. */
  depsFor(agent: string, policy: string | undefined): () => Promise<EngineDeps>
  change(next: LiveOptions): void
}

export function liveSettings(
  options: PlimsollOptions,
  { sessions, clock, hash, note }: Foundation,
  deps: () => Promise<EngineDeps>,
  tokenizers: OpenTokenizers,
): LiveSettings {
  let live: LiveOptions = options
  let generation = 0
  const book = createBudgetBook({
    budgets: createBudgets(() => live.budgets ?? [], note),
    sessions,
    clock,
    hash,
    holder: randomUUID(),
    onEvent: note,
  })
  const policyFor = (agent: string, named: string | undefined): Policy =>
    policyIn(live, named ?? live.agents?.[agent]?.policy ?? live.policy)
  const windowOf = (agent: string): number | undefined => live.agents?.[agent]?.window ?? live.window
  return {
    options: () => live,
    windowOf,
    depsFor(agent, named) {
      const make = (): (() => Promise<EngineDeps>) => {
        const policy = policyFor(agent, named)
        const given = {
          window: windowOf(agent),
          book,
          isLimited: (live.budgets ?? []).length > 0,
          hasSandbox: options.sandbox !== false,
          tokenizers,
          onEvent: note,
        }
        return once(async () => depsForPolicy(await deps(), policy, given))
      }
      // Made again after each change of settings. Made at once too, so that a wrong policy name throws immediately.
      let made = { of: generation, parts: make() }
      return () => {
        if (made.of !== generation) made = { of: generation, parts: make() }
        return made.parts()
      }
    },
    change(given) {
      live = checkLiveOptions(given)
      generation++
    },
  }
}

/** The token budget of a policy. As in its design, the call that exceeds it is still made. */
const sessionTokens = (policy: string, hard: number): Budget => ({
  name: `${policy} session tokens`,
  scope: 'session',
  unit: 'tokens',
  hard,
  enforce: 'settled',
})

/** An agent's own window, for targets without one. */
function withWindow(deps: EngineDeps, window: number | undefined): EngineDeps {
  if (window === undefined) return deps
  const { meter } = deps
  const own: typeof meter.limitOf = (target, ...rest) =>
    meter.limitOf({ ...target, window: target.window ?? window }, ...rest)
  return { ...deps, meter: { ...meter, limitOf: own } }
}

/** The prices of a design, for billing, reservations and reports under it. */
function withPrices(deps: EngineDeps, prices: Policy['prices']): EngineDeps {
  if (prices === undefined) return deps
  const catalogue = amendedCatalogue(deps.catalogue, { prices })
  return { ...deps, catalogue, meter: { ...deps.meter, factsOf: (model) => catalogue.resolve(model).info } }
}

/** What a session under a policy needs besides the engine's parts. */
interface UnderPolicy {
  /** An agent's own window. */
  readonly window?: number | undefined
  /** The budget book, and whether budgets other than the policy's limit spending. */
  readonly book: BudgetBook
  readonly isLimited: boolean
  readonly hasSandbox: boolean
  readonly tokenizers: OpenTokenizers
  readonly onEvent: (body: EventBody) => void
}

/** The engine's parts, changed for a policy. */
async function depsForPolicy(all: EngineDeps, policy: Policy, given: UnderPolicy): Promise<EngineDeps> {
  checkSteps(policy)
  const { estimator = {}, tokenBudget } = policy
  const deps = withPrices(withWindow(all, given.window), policy.prices)
  const policyBudgets = tokenBudget === undefined ? undefined : [sessionTokens(policy.name, tokenBudget)]
  const common: EngineDeps = {
    ...deps,
    policy: given.hasSandbox ? policy : withoutAnalysis(policy),
    budgets: policyBudgets !== undefined || given.isLimited ? given.book : undefined,
    policyBudgets,
  }
  const { meter } = designOf(policy)
  if (meter === undefined) return common
  const tokenizerOf = await given.tokenizers.ofDesign(Object.values(estimator.tokenizers ?? {}))
  const { onEvent } = given
  const own = meter(deps.meter, estimator, { tokenizerOf, onEvent })
  return { ...common, meter: { ...deps.meter, ...own } }
}

/** Without a sandbox, the guard of a policy analyses no large data. */
function withoutAnalysis(policy: Policy): Policy {
  const { intake } = policy
  return intake.guard === undefined
    ? policy
    : { ...policy, intake: { ...intake, guard: { sandbox: false, ...intake.guard } } }
}

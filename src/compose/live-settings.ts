import { randomUUID } from 'node:crypto'
import type { Policy } from '../core/policy.ts'
import type { EngineDeps } from '../engine/deps.ts'
import { createBudgetBook, type BudgetBook } from '../engine/spending/budget-book.ts'
import { createBudgets } from '../meter/index.ts'
import type { LiveOptions, PlimsollOptions } from '../options.ts'
import type { Foundation } from './foundation.ts'
import { checkPolicies, policyIn } from './named-policies.ts'
import { once } from './once.ts'
import type { OpenTokenizers } from './open-tokenizers.ts'
import { depsUnder } from './policy-deps.ts'

/** What may change while requests are under way, and the engine's parts under it. */
export interface LiveSettings {
  options(): LiveOptions
  /** For a session of an agent, under its policy or a named one, as the settings stand now. */
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
  const openBook = (): BudgetBook =>
    createBudgetBook({
      budgets: createBudgets(live.budgets ?? [], note),
      sessions,
      clock,
      hash,
      holder: randomUUID(),
      onEvent: note,
    })
  let book = openBook()
  const policyFor = (agent: string, named: string | undefined): Policy =>
    policyIn(live, named ?? live.agents?.[agent]?.policy ?? live.policy)
  return {
    options: () => live,
    depsFor(agent, named) {
      const policy = policyFor(agent, named)
      // A session settles in the book that it reserved in; another one reads what this one wrote.
      const given = {
        window: live.agents?.[agent]?.window ?? live.window,
        book,
        isLimited: (live.budgets ?? []).length > 0,
        hasSandbox: options.sandbox !== false,
        tokenizers,
        onEvent: note,
      }
      return once(async () => depsUnder(await deps(), policy, given))
    },
    change(next) {
      checkPolicies(next)
      const hasOtherBudgets = JSON.stringify(next.budgets ?? []) !== JSON.stringify(live.budgets ?? [])
      live = next
      if (hasOtherBudgets) book = openBook()
    },
  }
}

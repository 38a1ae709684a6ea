import { randomUUID } from 'node:crypto'
import type { Policy } from '../../core/policy.ts'
import type { EngineDeps } from '../../engine/deps.ts'
import { createBudgetBook, type BudgetBook } from '../../engine/spending/budget-book.ts'
import { createBudgets } from '../../meter/index.ts'
import type { LiveOptions, PlimsollOptions } from '../../options.ts'
import type { Foundation } from '../open/foundation.ts'
import { checkLiveOptions, policyIn } from '../named-policies.ts'
import { once } from '../../util/once.ts'
import type { OpenTokenizers } from '../open/tokenizers.ts'
import { depsUnder } from '../policy-deps.ts'

/** A book of budgets that can be replaced while calls are under way: each is settled in the book that it was reserved in. */
interface LiveBook extends BudgetBook {
  /** Calls from here on are weighed against other budgets. */
  renew(): void
}

const MOST_UNDER_WAY = 10_000

function liveBook(open: () => BudgetBook): LiveBook {
  let book = open()
  let generation = 0
  const issuers = new Map<string, { readonly book: BudgetBook; readonly reservation: string }>()
  const take = (name: string): { readonly book: BudgetBook; readonly reservation: string } => {
    const issuer = issuers.get(name)
    issuers.delete(name)
    return issuer ?? { book, reservation: name }
  }
  return {
    async reserve(request) {
      const current = book
      const prefix = generation
      const answer = await current.reserve(request)
      if (answer.verdict === 'halt') return answer
      const name = `${prefix}/${answer.reservation}`
      issuers.set(name, { book: current, reservation: answer.reservation })
      if (issuers.size > MOST_UNDER_WAY) issuers.delete(issuers.keys().next().value!)
      return { ...answer, reservation: name }
    },
    async settle(name, spent) {
      const issuer = take(name)
      await issuer.book.settle(issuer.reservation, spent)
    },
    async release(name) {
      const issuer = take(name)
      await issuer.book.release(issuer.reservation)
    },
    standing: (spender, at, also) => book.standing(spender, at, also),
    renew() {
      book = open()
      generation++
    },
  }
}

/** What may change while requests are under way, and the engine's parts under it. */
export interface LiveSettings {
  options(): LiveOptions
  /** The window that an agent's requests have, where the options say one. */
  windowOf(agent: string): number | undefined
  /** For a session of an agent, under its policy or a named one, as the settings stand when it is asked. */
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
  const book = liveBook(() =>
    createBudgetBook({
      budgets: createBudgets(live.budgets ?? [], note),
      sessions,
      clock,
      hash,
      holder: randomUUID(),
      onEvent: note,
    }),
  )
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
        return once(async () => depsUnder(await deps(), policy, given))
      }
      // Made once for each change of the settings; a name that is wrong is an error at once.
      let made = { of: generation, parts: make() }
      return () => {
        if (made.of !== generation) made = { of: generation, parts: make() }
        return made.parts()
      }
    },
    change(given) {
      const next = checkLiveOptions(given)
      const hasOtherBudgets = JSON.stringify(next.budgets ?? []) !== JSON.stringify(live.budgets ?? [])
      live = next
      generation++
      if (hasOtherBudgets) book.renew()
    },
  }
}

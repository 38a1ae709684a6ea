/* `createBudgets` is long because all its functions write the same accounts; none of them alone is. */
import type { EventBody } from '../../core/events.ts'
import { type PriceModel, ratesFor } from '../../core/price.ts'
import type { ModelInfo } from '../../ports/catalogue.ts'

export type BudgetScope = 'call' | 'session' | 'agent' | 'key' | 'tenant' | 'day'

/** A limit on spending. `day` counts a tenant's calendar day in UTC. */
export interface Budget {
  readonly name: string
  readonly scope: BudgetScope
  readonly unit: 'tokens' | 'usd'
  /** Passing it is reported once; calls go on. */
  readonly soft?: number
  readonly hard: number
  /**
   * `reserve` holds the most a call can cost before it is made, so that calls in parallel cannot overspend together. `settled`
   * looks at what was spent only, as designs do that let the last call pass the line. @default 'reserve'
   */
  readonly enforce?: 'reserve' | 'settled'
  /** Share of `hard` kept for the closing answer. @default 0.1, and 0 for `call` and `settled` */
  readonly finalShare?: number
}

/** Who makes a call. */
export interface Spender {
  readonly tenant: string
  readonly session: string
  readonly agent?: string
  readonly key?: string
}

export interface ReserveRequest {
  readonly spender: Spender
  readonly bound: CallBound
  readonly price?: PriceModel
  readonly at: number
  /** Budgets beside the standing ones: the policy's own. */
  readonly also?: readonly Budget[]
  /** A call of ours, such as a summary: it is made or not, and never is the closing answer. @default false */
  readonly side?: boolean
}

export type BudgetAnswer =
  | { readonly verdict: 'proceed'; readonly reservation: string }
  /** The closing answer: no tools, at most this much output. Given once per budget and spender. */
  | {
      readonly verdict: 'final'
      readonly reservation: string
      readonly maxOutputTokens: number
      readonly budget: string
      readonly reason: string
    }
  | {
      readonly verdict: 'halt'
      readonly budget: string
      readonly reason: string
      /** Only calls under way stand in its way: there may be room once they are settled. */
      readonly retryable?: true
    }

export interface Spent {
  readonly tokens: number
  readonly usd: number
}

export interface BudgetAccount {
  readonly key: string
  readonly scope: BudgetScope
  readonly unit: 'tokens' | 'usd'
}

export interface AccountHold {
  readonly account: string
  readonly unit: 'tokens' | 'usd'
  readonly amount: number
  readonly final: boolean
  /** What the budget allowed when it was held. */
  readonly hard: number
}

export interface OthersShare {
  readonly spent: number
  readonly held: number
  /** The closing answer was given away under a budget of so much; a larger one has its own. */
  readonly finalUnder?: number
}

export interface BudgetStanding {
  readonly budget: string
  readonly scope: BudgetScope
  readonly unit: 'tokens' | 'usd'
  readonly spent: number
  readonly held: number
  readonly hard: number
}

/** Reservation before a call, settlement after it. Synchronous, so that no two calls see the same remainder. */
export interface Budgets {
  reserve(request: ReserveRequest): BudgetAnswer
  /** What the call really cost. `undefined`: the provider said nothing, so what was held counts as spent. */
  settle(reservation: string, spent: Spent | undefined): void
  /** The call was never billed. */
  release(reservation: string): void
  /** As if it had never been asked for: a closing answer can be given again. */
  cancel(reservation: string): void
  /** Spent and held, by budget, for one spender. */
  standing(spender: Spender, at: number, also?: readonly Budget[]): readonly BudgetStanding[]
  /** The accounts that a call of this spender draws on; a call's own has none. */
  accountsOf(spender: Spender, at: number, also?: readonly Budget[]): readonly BudgetAccount[]
  /** What a reservation holds, by account. */
  holdsOf(reservation: string): readonly AccountHold[]
  /** What others spent and hold on an account: other processes, and this one's predecessors. */
  setOthers(account: string, others: OthersShare): void
}

interface Held {
  readonly account: Account
  readonly budget: Budget
  readonly amount: number
  /** This reservation is the budget's closing answer. */
  readonly final: boolean
}

/** A closing answer shorter than this says nothing. */
const LEAST_FINAL_OUTPUT = 128
const MOST_ACCOUNTS = 100_000

/** `standing` is asked each time: budgets may change while calls are under way, and each call is settled under those that it was weighed by. */
export function createBudgets(
  standing: () => readonly Budget[],
  onEvent: (event: EventBody) => void = () => {},
): Budgets {
  const accounts = new Map<string, Account>()
  const reservations = new Map<string, readonly Held[]>()
  let next = 1
  let warned = false

  function accountOf(budget: Budget, spender: Spender, at: number): Account {
    const key = accountKey(budget, spender, at)
    const known = accounts.get(key)
    if (known !== undefined) return known
    const fresh = newAccount(key)
    forgetOldest()
    // A call's own budget ends with the call.
    if (budget.scope !== 'call') accounts.set(key, fresh)
    return fresh
  }

  /** Days that passed and sessions long gone; an account with a call under way stays. */
  function forgetOldest(): void {
    if (accounts.size < MOST_ACCOUNTS) return
    for (const [key, { held }] of accounts) {
      if (held > 0) continue
      accounts.delete(key)
      return
    }
  }

  function hold(entries: readonly { budget: Budget; account: Account }[], bound: CallBound, closed?: Account): string {
    const id = `reservation-${next++}`
    const held = entries.map(({ budget, account }) => ({
      account,
      budget,
      amount: amountOf(bound, budget.unit),
      final: account === closed,
    }))
    for (const { account, amount } of held) account.held += amount
    reservations.set(id, held)
    return id
  }

  function reportSoft(budget: Budget, account: Account, amount: number): void {
    if (budget.soft === undefined || account.softReported >= budget.soft) return
    if (usedOf(account) + amount <= budget.soft) return
    account.softReported = budget.soft
    onEvent({
      type: 'budget-reached',
      budget: `${budget.name} (soft)`,
      used: usedOf(account) + amount,
      of: budget.soft,
    })
  }

  /** The budgets that this call would pass, and which of them only for what other calls hold. */
  function allOver(
    entries: readonly { budget: Budget; account: Account }[],
    bound: CallBound,
  ): { budget: Budget; account: Account; isHeld: boolean }[] {
    return entries.flatMap(({ budget, account }) => {
      if (isClosed(account, budget)) return [{ budget, account, isHeld: false }]
      if (budget.enforce === 'settled') {
        return spentOf(account) > budget.hard ? [{ budget, account, isHeld: false }] : []
      }
      const line = budget.hard * (1 - finalShareOf(budget))
      const amount = amountOf(bound, budget.unit)
      if (usedOf(account) + amount <= line) return []
      return [{ budget, account, isHeld: spentOf(account) + amount <= line }]
    })
  }

  return {
    reserve({ spender, bound, price, at, also = [], side = false }) {
      const budgets = standing()
      const entries = [...budgets, ...also].map((budget) => ({ budget, account: accountOf(budget, spender, at) }))
      if (bound.usd === undefined && !warned && budgets.some(({ unit }) => unit === 'usd')) {
        warned = true
        onEvent({
          type: 'warning',
          topic: 'unpriced-call',
          message:
            'A model without a known price was called under a budget in dollars; such calls count as free. Name its price in the config.',
        })
      }
      const overs = allOver(entries, bound)
      // A budget that is used up decides; one whose rest is only held gives room again.
      const over = overs.find(({ isHeld }) => !isHeld) ?? overs[0]
      if (over === undefined) {
        for (const { budget, account } of entries) reportSoft(budget, account, amountOf(bound, budget.unit))
        return { verdict: 'proceed', reservation: hold(entries, bound) }
      }
      const { budget, account, isHeld } = over
      const used = usedOf(account)
      onEvent({ type: 'budget-reached', budget: budget.name, used, of: budget.hard })
      const reason = reasonOf(budget, used, amountOf(bound, budget.unit))
      if (isHeld) return { verdict: 'halt', budget: budget.name, reason, retryable: true }
      if (side || isClosed(account, budget) || budget.scope === 'call') {
        return { verdict: 'halt', budget: budget.name, reason }
      }
      const output = Math.min(...entries.map((entry) => finalOutput(entry, bound, price)))
      if (output < LEAST_FINAL_OUTPUT) return { verdict: 'halt', budget: budget.name, reason }
      account.finalUnder = budget.hard
      const closing = boundOf({ inputHigh: bound.inputTokens, maxOutputTokens: output }, { price })
      return {
        verdict: 'final',
        reservation: hold(entries, closing, account),
        maxOutputTokens: output,
        budget: budget.name,
        reason,
      }
    },
    settle(reservation, spent) {
      for (const { account, budget, amount } of take(reservation)) {
        account.held -= amount
        account.spent += spent === undefined ? amount : spent[budget.unit]
      }
    },
    release(reservation) {
      for (const { account, amount } of take(reservation)) account.held -= amount
    },
    cancel(reservation) {
      for (const { account, amount, final } of take(reservation)) {
        account.held -= amount
        if (final) account.finalUnder = -Infinity
      }
    },
    standing: (spender, at, also = []) =>
      [...standing(), ...also].map((budget) => {
        const account = accounts.get(accountKey(budget, spender, at))
        return {
          budget: budget.name,
          scope: budget.scope,
          unit: budget.unit,
          spent: account === undefined ? 0 : spentOf(account),
          held: account === undefined ? 0 : usedOf(account) - spentOf(account),
          hard: budget.hard,
        }
      }),
    accountsOf: (spender, at, also = []) =>
      [...standing(), ...also]
        .filter(({ scope }) => scope !== 'call')
        .map((budget) => {
          const { key } = accountOf(budget, spender, at)
          return { key, scope: budget.scope, unit: budget.unit }
        }),
    holdsOf: (reservation) =>
      (reservations.get(reservation) ?? [])
        .filter(({ budget }) => budget.scope !== 'call')
        .map(({ account, budget, amount, final }) => ({
          account: account.key,
          unit: budget.unit,
          amount,
          final,
          hard: budget.hard,
        })),
    setOthers(key, others) {
      const account = accounts.get(key)
      if (account !== undefined) account.others = others
    },
  }

  /** A reservation is settled or released once; what comes later changes nothing. */
  function take(reservation: string): readonly Held[] {
    const held = reservations.get(reservation) ?? []
    reservations.delete(reservation)
    return held
  }
}

function finalOutput(
  { budget, account }: { budget: Budget; account: Account },
  bound: CallBound,
  price: PriceModel | undefined,
): number {
  if (budget.enforce === 'settled') return bound.outputTokens
  const left = budget.hard - usedOf(account)
  return Math.min(bound.outputTokens, affordableOutput(bound, budget.unit, left, price))
}

const finalShareOf = (budget: Budget): number =>
  budget.finalShare ?? (budget.scope === 'call' || budget.enforce === 'settled' ? 0 : 0.1)

/** An unpriced call holds nothing in dollars: there is no number to hold, and the catalogue has warned. */
const amountOf = (bound: CallBound, unit: 'tokens' | 'usd'): number =>
  unit === 'tokens' ? bound.tokens : (bound.usd ?? 0)

const show = (amount: number, unit: 'tokens' | 'usd'): string =>
  unit === 'usd' ? `$${amount.toFixed(4)}` : `${Math.ceil(amount).toLocaleString('en-US')} tokens`

/** A sentence whose numbers add up, without its full stop. */
function reasonOf(budget: Budget, used: number, amount: number): string {
  const kept = budget.hard * finalShareOf(budget)
  const amounts = [
    `${show(used, budget.unit)} are spent or held`,
    ...(kept > 0 && budget.enforce !== 'settled' ? [`${show(kept, budget.unit)} are kept for a closing answer`] : []),
  ]
  return `Budget "${budget.name}" allows ${show(budget.hard, budget.unit)}: ${amounts.join(', ')}, and this call may take up to ${show(amount, budget.unit)}`
}

/** What was spent and is held under one budget by those who share it. */
export interface Account {
  readonly key: string
  spent: number
  held: number
  /** The highest soft limit that was reported as passed. */
  softReported: number
  /** The closing answer was given under a budget of so much; a larger one has its own. */
  finalUnder: number
  others: OthersShare
}

const NOBODY: OthersShare = { spent: 0, held: 0 }

const newAccount = (key: string): Account => ({
  key,
  spent: 0,
  held: 0,
  softReported: -Infinity,
  finalUnder: -Infinity,
  others: NOBODY,
})

const spentOf = ({ spent, others }: Account): number => spent + others.spent
const usedOf = ({ spent, held, others }: Account): number => spent + held + others.spent + others.held
const isClosed = ({ finalUnder, others }: Account, { hard }: Budget): boolean =>
  Math.max(finalUnder, others.finalUnder ?? -Infinity) >= hard

const DAY_MS = 24 * 3600 * 1000

/** Spenders with the same key share an account. */
function accountKey(budget: Budget, spender: Spender, at: number): string {
  const own: Record<BudgetScope, string> = {
    call: '',
    session: spender.session,
    agent: `${spender.session}/${spender.agent ?? ''}`,
    key: spender.key ?? '',
    tenant: '',
    day: String(Math.floor(at / DAY_MS)),
  }
  return JSON.stringify([budget.name, budget.scope, spender.tenant, own[budget.scope]])
}

/** The most that a call can cost: known before it is made. */
export interface CallBound {
  readonly tokens: number
  /** Undefined if the model's price is unknown. */
  readonly usd?: number
  readonly inputTokens: number
  readonly outputTokens: number
}

export interface CallPlan {
  /** Upper bound of the prompt. */
  readonly inputHigh: number
  /** The request's output cap; without one, the catalogue's maximum. */
  readonly maxOutputTokens?: number
}

/** Output that a model without a catalogued limit is taken to be able to write. */
const MOST_OUTPUT = 128_000

/** Input upper bound times the dearest way to send it (a cache write) plus output cap times the output price. */
export function boundOf(plan: CallPlan, facts: Pick<ModelInfo, 'price' | 'maxOutputTokens'>): CallBound {
  const inputTokens = Math.ceil(plan.inputHigh)
  const outputTokens = plan.maxOutputTokens ?? facts.maxOutputTokens ?? MOST_OUTPUT
  const usd =
    facts.price === undefined
      ? undefined
      : inputUsd(inputTokens, facts.price) + (outputTokens * outputRate(inputTokens, facts.price)) / 1_000_000
  return { tokens: inputTokens + outputTokens, inputTokens, outputTokens, usd }
}

function inputUsd(tokens: number, price: PriceModel): number {
  const { input, cacheWrite, cacheWriteLong } = ratesFor(tokens, price)
  return (tokens * Math.max(input, cacheWrite ?? 0, cacheWriteLong ?? 0)) / 1_000_000
}

const outputRate = (inputTokens: number, price: PriceModel): number => ratesFor(inputTokens, price).output

/** Output tokens that still fit beside the prompt in what is left of a budget; negative when not even the prompt does. */
function affordableOutput(
  bound: CallBound,
  unit: 'tokens' | 'usd',
  left: number,
  price: PriceModel | undefined,
): number {
  if (unit === 'tokens') return left - bound.inputTokens
  if (price === undefined) return bound.outputTokens
  const rate = outputRate(bound.inputTokens, price)
  const afterInput = left - inputUsd(bound.inputTokens, price)
  return rate <= 0 ? (afterInput >= 0 ? bound.outputTokens : -1) : Math.floor((afterInput * 1_000_000) / rate)
}

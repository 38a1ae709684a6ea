import type { PriceModel } from '../../core/price.ts'
import type { CallBound } from './reservation.ts'

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

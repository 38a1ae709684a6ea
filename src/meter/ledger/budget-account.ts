import type { Budget, BudgetScope, OthersShare, Spender } from './budget-terms.ts'

/** What was spent and is held under one budget by those who share it. */
export interface Account {
  readonly key: string
  spent: number
  held: number
  softReported: boolean
  finalGiven: boolean
  others: OthersShare
}

const NOBODY: OthersShare = { spent: 0, held: 0 }

export const newAccount = (key: string): Account => ({
  key,
  spent: 0,
  held: 0,
  softReported: false,
  finalGiven: false,
  others: NOBODY,
})

export const spentOf = ({ spent, others }: Account): number => spent + others.spent
export const usedOf = ({ spent, held, others }: Account): number => spent + held + others.spent + others.held
export const isClosed = ({ finalGiven, others }: Account, { hard }: Budget): boolean =>
  finalGiven || (others.finalUnder ?? -Infinity) >= hard

const DAY_MS = 24 * 3600 * 1000

/** Spenders with the same key share an account. */
export function accountKey(budget: Budget, spender: Spender, at: number): string {
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

import type { BudgetBook } from '../../engine/spending/budget-book.ts'

/** A book of budgets that can be replaced while calls are under way: each is settled in the book that it was reserved in. */
export interface LiveBook extends BudgetBook {
  /** Calls from here on are weighed against other budgets. */
  renew(): void
}

const MOST_UNDER_WAY = 10_000

export function liveBook(open: () => BudgetBook): LiveBook {
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

import { NOTHING_USED, type BudgetSnapshot } from '../../tool-results/tool-budget.ts'

/** Tokens that results took since the last request, and in the session as far as this process knows. */
export class ToolUse {
  #snapshot: BudgetSnapshot = NOTHING_USED

  get snapshot(): BudgetSnapshot {
    return this.#snapshot
  }

  /** Results were shown, or a request came that has them. */
  is(snapshot: BudgetSnapshot): void {
    this.#snapshot = snapshot
  }
}

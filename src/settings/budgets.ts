import { PlimsollError } from '../core/errors.ts'
import type { Budget } from '../meter/index.ts'
import type { BudgetConfig } from './config.ts'

/** Budgets as a file or a flag writes them. @throws PlimsollError `bad-config` when one names no amount, or two. */
export function budgetsOf(configs: readonly BudgetConfig[]): readonly Budget[] {
  return configs.map(({ scope = 'session', usd, tokens, warn, closing, name }): Budget => {
    const hard = usd ?? tokens
    if (hard === undefined || (usd !== undefined && tokens !== undefined)) {
      throw new PlimsollError(
        'bad-config',
        `A budget needs an amount in usd or in tokens${name === undefined ? '' : `; "${name}" does not have one`}.`,
        {
          advice: 'Write two budgets to limit both.',
        },
      )
    }
    const unit = usd === undefined ? 'tokens' : 'usd'
    return {
      name: name ?? `${unit} per ${scope}`,
      scope,
      unit,
      hard,
      ...(warn !== undefined && { soft: hard * warn }),
      ...(closing !== undefined && { finalShare: closing }),
    }
  })
}

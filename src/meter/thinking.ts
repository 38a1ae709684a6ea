import type { Item } from '../core/item.ts'

/** Claude models that forget thinking of finished turns: it is sent and billed as nothing. Later ones keep it. */
const FORGETS = /claude-(3|(opus|sonnet)-4(-0|-1|-2025\d+|$)|(sonnet|haiku)-4-5)/

export function keepsOlderThinking(model: string, family: string): boolean {
  return !family.startsWith('claude') || !FORGETS.test(model.replaceAll('.', '-'))
}

/** Thinking that stands before the newest message a person wrote: its turn is over. */
export function olderThinking(items: readonly Item[]): ReadonlySet<Item> {
  let newest = -1
  for (let i = items.length - 1; i >= 0; i--) {
    if (items[i]!.kind === 'user') {
      newest = i
      break
    }
  }
  return new Set(items.slice(0, Math.max(0, newest)).filter((item) => item.kind === 'reasoning'))
}

/** Claude models that forget thinking of finished turns: it is sent and billed as nothing. Later ones keep it. */
const FORGETS = /claude-(3|(opus|sonnet)-4(-0|-1|-2025\d+|$)|(sonnet|haiku)-4-5)/

export function keepsOlderThinking(model: string, family: string): boolean {
  return !family.startsWith('claude') || !FORGETS.test(model.replaceAll('.', '-'))
}

import { grouped } from '../inspect/figures.ts'
import { dollars } from '../inspect/figures.ts'
import type { Screen } from '../kit/screen.ts'
import { wrapped } from '../kit/wrapped.ts'
import type { Chat } from './chat.ts'

const HARD_SPACE = '\u00A0'

/** Used / limit, percent, latest turn, average, compaction threshold, turns left, cost: after each turn. Breaks between figures. */
export async function metricsLine(chat: Chat, screen: Pick<Screen, 'isTerminal' | 'width'>): Promise<string> {
  const { session, budgetUsd } = chat.state()
  const { used, limit, percent, threshold, turnsRemaining, lastTurn, spent } = await session.status()
  const figures = [
    `${grouped(used)} / ${grouped(limit)} tokens (${percent.toFixed(1)} %)`,
    ...(lastTurn === undefined
      ? ['no usage reported']
      : [`last ${grouped(lastTurn.input)} in, ${grouped(lastTurn.output)} out`, `avg ${grouped(lastTurn.average)}`]),
    `compacts at ${grouped(threshold)}`,
    ...(turnsRemaining === undefined ? [] : [`~${grouped(turnsRemaining)} turns left`]),
    budgetUsd === undefined ? dollars(spent.costUsd) : `${dollars(spent.costUsd)} of ${dollars(budgetUsd)}`,
  ]
  const whole = figures.map((figure) => figure.replaceAll(' ', HARD_SPACE)).join(`${HARD_SPACE}· `)
  return wrapped(whole, screen).replaceAll(HARD_SPACE, ' ')
}

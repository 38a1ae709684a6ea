import { grouped } from '../inspect/figures.ts'
import { dollars } from '../replay/terminal.ts'
import type { Chat } from './chat.ts'

/** Used / limit, percent, latest turn, average, compaction threshold, turns left, cost: after each turn. */
export async function metricsLine(chat: Chat): Promise<string> {
  const { session, budgetUsd } = chat.state()
  const { used, limit, percent, threshold, turnsRemaining, lastTurn, spent } = await session.status()
  return [
    `${grouped(used)} / ${grouped(limit)} tokens (${percent.toFixed(1)} %)`,
    ...(lastTurn === undefined
      ? ['no usage reported']
      : [`last ${grouped(lastTurn.input)} in, ${grouped(lastTurn.output)} out`, `avg ${grouped(lastTurn.average)}`]),
    `compacts at ${grouped(threshold)}`,
    ...(turnsRemaining === undefined ? [] : [`~${grouped(turnsRemaining)} turns left`]),
    budgetUsd === undefined ? dollars(spent.costUsd) : `${dollars(spent.costUsd)} of ${dollars(budgetUsd)}`,
  ].join(' · ')
}

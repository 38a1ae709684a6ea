import { turnTotals } from '../../../meter/index.ts'
import { grouped } from '../inspect/figures.ts'
import { dollars } from '../replay/terminal.ts'
import type { Chat } from './chat.ts'

/** Used / limit, percent, latest turn, average, compaction threshold, turns left, cost: after each turn. */
export async function metricsLine(chat: Chat): Promise<string> {
  const { session, usages, spentUsd, budgetUsd } = chat.state()
  const { used, limit, percent, threshold, turnsRemaining } = await session.status()
  const last = usages.at(-1)
  const { average } = turnTotals(usages)
  return [
    `${grouped(used)} / ${grouped(limit)} tokens (${percent.toFixed(1)} %)`,
    ...(last === undefined
      ? ['no usage reported']
      : [`last ${grouped(last.input)} in, ${grouped(last.output)} out`, `avg ${grouped(average)}`]),
    `compacts at ${grouped(threshold)}`,
    ...(turnsRemaining === undefined ? [] : [`~${grouped(turnsRemaining)} turns left`]),
    budgetUsd === undefined ? dollars(spentUsd) : `${dollars(spentUsd)} of ${dollars(budgetUsd)}`,
  ].join(' · ')
}

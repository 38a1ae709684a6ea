import { declaredCount } from '../../core/epochs.ts'
import type { Epoch } from '../../core/records.ts'
import type { PrepareContext } from '../prepare/context.ts'
import { fixedTokensOf } from '../prepare/counting.ts'
import { highWater } from './thresholds.ts'

/**
 * A third epoch on three requests in a row would mean that reducing does not help: what is left does not shrink. The request then
 * goes as it is if it fits, and otherwise ends in a typed error that names the largest parts.
 */
export const MOST_IN_A_ROW = 2

/**
 * Epochs on the requests directly before this one, told from the transcript alone, so that every process decides the same: an
 * epoch belongs to the request before if the model has answered at most once since.
 */
export function epochsInARow({ conversation, links }: PrepareContext, standing: Epoch | undefined): number {
  const count = standing === undefined ? 0 : declaredCount(standing)
  if (standing === undefined || count >= links.length) return 0
  const { items } = conversation
  // Reasoning is no link of the chain, but it is where many an answer begins.
  const from = count === 0 ? 0 : links[count - 1]!.index + 1
  let answers = 0
  for (let i = from; i < items.length && answers <= 1; i++) {
    if (items[i]!.role === 'assistant' && (i === from || items[i - 1]!.role !== 'assistant')) answers++
  }
  return answers <= 1 ? (standing.inARow ?? 1) : 0
}

/**
 * Instructions and tools alone are at high water: no summary gets below it, so the next request would be reduced again. Nobody pays a
 * model for that; what code writes serves.
 */
export function isOverheadHigh(context: PrepareContext): boolean {
  const { deps, limit, emit } = context
  const fixed = Math.ceil(fixedTokensOf(context))
  const line = Math.floor(highWater(deps.policy, limit))
  if (fixed < line) return false
  const message = `Instructions and tools take ${fixed} tokens and reduction starts at ${line}: no model is asked for a summary.`
  emit({ type: 'warning', topic: 'fixed-overhead', message })
  return true
}

import { declaredCount } from '../../core/epochs.ts'
import type { Epoch } from '../../core/records.ts'
import type { PrepareContext, View, Standing } from '../prepare/context.ts'
import { fixedCountOf, isCertainlyOver, isOver } from '../prepare/counting.ts'
import { designOf } from '../presets/design.ts'
import { sentBefore } from '../session/record.ts'
import { isDue } from './price-gate.ts'
import { highWater, isHigh } from './thresholds.ts'

/** Above the limit always; above high water only when enough has come in since the last epoch to make another worth it. */
export function needsEpoch(context: PrepareContext, standing: Standing, view: View): boolean {
  const { load, conversation } = view
  const { deps, branch, links, limit } = context
  const { policy } = deps
  const { epoch } = standing
  if (branch.log.wish !== undefined) return true
  if (sentBefore(context, epoch?.id) !== undefined) return false
  if (epoch !== undefined && epochsInARow(context, epoch) >= MOST_IN_A_ROW) return false
  if (isOver(load, limit)) return true
  if (branch.background.isWriting) return false
  // A preset's window of messages is full, and a tenth of it has come in since the last epoch.
  const { messages } = designOf(policy)
  const since = links.length - (epoch === undefined ? 0 : declaredCount(epoch))
  if (messages && messages.count(conversation.items) >= messages.most && since >= messages.most * 0.1) return true
  const { cacheIsWarm } = branch.log
  // A preset's formula may be at high water before anything was said: its constants stand for prompts that this window has no room for. No
  // reduction gets below that, so our own upper bound decides.
  const alone = { ...context.conversation, items: context.conversation.items.slice(-1) }
  const base = deps.meter.design?.estimate?.(alone, context.target.model) ?? 0
  const { high } = load.count
  const isBaseHigh = base > 0 && base >= highWater(policy, limit, cacheIsWarm)
  const deciding = isBaseHigh ? { ...load, count: { ...load.count, tokens: high } } : load
  if (!isHigh(policy, limit, deciding, cacheIsWarm)) return isDue(context, standing, view)
  const { rest } = policy.water
  return rest === 0 || high - (epoch?.after ?? 0) >= rest * limit.tokens
}

/**
 * A third epoch on three requests in a row would mean that reducing does not help: what is left does not shrink. The request then
 * goes as it is if it fits, and otherwise ends in a typed error that names the largest parts.
 */
export const MOST_IN_A_ROW = 2

/** One more of them, where the request would be refused otherwise and the preset rather compacts. */
export const needsOneMore = (context: PrepareContext, { epoch }: Standing, { estimate }: View): boolean =>
  designOf(context.deps.policy).compactsInARow === true &&
  epochsInARow(context, epoch) >= MOST_IN_A_ROW &&
  isCertainlyOver(estimate, context.limit)

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
 * Instructions and tools alone are at high water: no summary gets below it, so the next request would be reduced again. No model is
 * paid for that; what code writes serves.
 */
export function isOverheadHigh(context: PrepareContext): boolean {
  const { deps, limit, emit } = context
  const fixed = Math.ceil(fixedCountOf(context).high)
  const line = Math.floor(highWater(deps.policy, limit))
  if (fixed < line) return false
  const message = `Instructions and tools take ${fixed} tokens and reduction starts at ${line}: no model is asked for a summary.`
  emit({ type: 'warning', topic: 'fixed-overhead', message })
  return true
}

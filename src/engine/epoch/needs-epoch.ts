import { isWriting } from '../session/branch.ts'
import type { Conversation } from '../../core/conversation.ts'
import { declaredCount } from '../../core/epochs.ts'
import type { Epoch } from '../../core/records.ts'
import type { Load } from '../../core/target.ts'
import type { PrepareContext, View, Standing } from '../prepare/context.ts'
import { fixedTokensOf, isOver } from '../prepare/counting.ts'
import { designOf } from '../presets/design.ts'
import { sentBefore } from '../session/record.ts'
import { decidingCount, highWater, isHigh } from './thresholds.ts'

/** Above the limit always; above high water only when enough has come in since the last epoch to make another worth it. */
export function needsEpoch(context: PrepareContext, standing: Standing, { load, conversation }: View): boolean {
  const { deps, branch, limit } = context
  if (branch.wish.request !== undefined) return true
  if (sentBefore(context, standing.epoch?.id) !== undefined) return false
  if (epochsInARow(context, standing.epoch) >= MOST_IN_A_ROW) return false
  if (isOver(load, limit)) return true
  if (isWriting(branch.background)) return false
  const { policy } = deps
  if (hasManyMessages(context, standing, conversation)) return true
  if (!isHigh(policy, limit, isBaseHigh(context) ? byBound(load) : load, branch.log.cacheIsWarm)) return false
  const { rest } = policy.water
  return rest === 0 || load.count.high - (standing.epoch?.after ?? 0) >= rest * limit.tokens
}

/**
 * Whether a preset's formula is at high water before anything was said: its constants stand for prompts that this window has no room for. No
 * reduction gets below that, so our own upper bound decides.
 */
function isBaseHigh({ deps, conversation, target, limit, branch }: PrepareContext): boolean {
  const base = deps.meter.design?.estimate?.({ ...conversation, items: conversation.items.slice(-1) }, target.model)
  return base !== undefined && base >= highWater(deps.policy, limit, branch.log.cacheIsWarm)
}

const byBound = (load: Load): Load => ({ ...load, count: { ...load.count, tokens: load.count.high } })

/** A preset's window of messages is full, and a tenth of it has come in since the last epoch. */
function hasManyMessages({ deps, links }: PrepareContext, { epoch }: Standing, view: Conversation): boolean {
  const { messages } = designOf(deps.policy)
  if (messages === undefined || messages.count(view.items) < messages.most) return false
  return links.length - (epoch === undefined ? 0 : declaredCount(epoch)) >= messages.most * 0.1
}

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
 * Instructions and tools alone are at high water: no summary gets below it, so the next request would be reduced again. No model is
 * paid for that; what code writes serves.
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

/** One event for each time that the load comes to high water, by the same arithmetic that starts a reduction. */
export function noteHighWater({ deps, branch, limit, emit }: PrepareContext, { load }: View): void {
  const { policy } = deps
  const { cacheIsWarm } = branch.log
  if (!branch.requests.rose(isHigh(policy, limit, load, cacheIsWarm))) return
  emit({
    type: 'compaction-needed',
    load: load.count[decidingCount(policy)],
    threshold: highWater(policy, limit, cacheIsWarm),
  })
}

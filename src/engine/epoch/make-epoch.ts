import type { Conversation } from '../../core/conversation.ts'
import { declaredCount } from '../../core/epochs.ts'
import { RECORD_VERSION } from '../../core/records.ts'
import type { Load } from '../../core/target.ts'
import { announceEpoch, type DeclaredEpoch } from './announce-epoch.ts'
import { epochsInARow, isOverheadHigh, MOST_IN_A_ROW } from './breaker.ts'
import type { PrepareContext, View } from '../prepare/context.ts'
import { isOver } from '../prepare/limits.ts'
import { declareEpoch } from './declare-epoch.ts'
import { askBeforeEpoch } from './epoch-hooks.ts'
import { priceGate } from './price-gate.ts'
import type { Standing } from '../prepare/standing.ts'
import { appendTo } from '../session/restore.ts'
import { sentBefore } from '../session/sent-request.ts'
import { highWater, isHigh, messagesOf, messagesSinceSummary } from './thresholds.ts'

/** Above the limit always; above high water only when enough has come in since the last epoch to make another worth it. */
export function needsEpoch(context: PrepareContext, standing: Standing, { load, conversation }: View): boolean {
  const { deps, branch, limit } = context
  if (branch.wish.request !== undefined) return true
  if (sentBefore(context, standing.epoch?.id) !== undefined) return false
  if (epochsInARow(context, standing.epoch) >= MOST_IN_A_ROW) return false
  if (isOver(load, limit)) return true
  if (branch.background.isWriting) return false
  const { policy } = deps
  if (hasManyMessages(context, standing, conversation)) return true
  if (!isHigh(policy, limit, isBaseHigh(context) ? byBound(load) : load, branch.log.cacheIsWarm)) return false
  const { rest } = policy.water
  return rest === 0 || load.count.high - (standing.epoch?.after ?? 0) >= rest * limit.tokens
}

/**
 * Whether a design's formula is at high water before anything was said: its constants stand for prompts that this window has no room for. No
 * reduction gets below that, so our own upper bound decides.
 */
function isBaseHigh({ deps, conversation, target, limit, branch }: PrepareContext): boolean {
  const base = deps.meter.design?.estimate?.({ ...conversation, items: conversation.items.slice(-1) }, target.model)
  return base !== undefined && base >= highWater(deps.policy, limit, branch.log.cacheIsWarm)
}

const byBound = (load: Load): Load => ({ ...load, count: { ...load.count, tokens: load.count.high } })

/** A window of messages is full, and a tenth of it has come in since the last epoch. */
function hasManyMessages({ deps, links }: PrepareContext, { epoch }: Standing, view: Conversation): boolean {
  const { messages, messagesSince = 'start' } = deps.policy.water
  if (messages === undefined) return false
  const count = messagesSince === 'start' ? messagesOf(view.items) : messagesSinceSummary(view.items)
  if (count < messages) return false
  return links.length - (epoch === undefined ? 0 : declaredCount(epoch)) >= messages * 0.1
}

/** Nothing came of what the log asks for: no other process tries it again. */
async function refuse({ deps, branch }: PrepareContext, refusal: string): Promise<void> {
  const at = deps.clock.now()
  await appendTo(deps, branch, [{ v: RECORD_VERSION, at, agent: branch.agent, type: 'compaction-asked', refusal }])
}

/** Makes an epoch; where none makes the request fit, the smallest view that was found. */
export async function makeEpoch(
  context: PrepareContext,
  standing: Standing,
  before: View,
  log: () => Promise<void>,
): Promise<{ readonly declared?: DeclaredEpoch; readonly smallest?: View }> {
  const { branch, limit } = context
  const { background, wish } = branch
  const forced = isOver(before.load, limit)
  // Whoever has to fit now does not wait for a summary that another call has started.
  const modelFree = background.isWriting || isOverheadHigh(context)
  background.drop()
  const { request: requested } = wish
  const why = forced ? 'overflow' : requested !== undefined ? 'requested' : 'high-water'
  const hooked = await askBeforeEpoch(context, before, why)
  if (hooked === undefined) return {}
  const gate = forced || requested !== undefined ? undefined : priceGate(context, before)
  const epoch = await declareEpoch(context, standing, {
    ...(gate !== undefined && { accepts: (planned) => gate.accepts(planned) }),
    forced,
    loadBefore: before.load.count.high,
    bytesBefore: before.load.bytes,
    before,
    modelFree,
    ...(requested !== undefined && { requested }),
    preserve: hooked.preserve,
    alongside: log,
  })
  wish.answer('nothing' in epoch ? epoch.nothing : undefined)
  if ('nothing' in epoch) {
    if (requested?.isLogged === true) await refuse(context, epoch.nothing)
    return epoch.view === undefined ? {} : { smallest: epoch.view }
  }
  const price = gate?.quote()
  const about = { forced, ...(price !== undefined && { price }) }
  await context.pause()
  return { declared: await announceEpoch(context, standing, before, epoch, { why, ...about }) }
}

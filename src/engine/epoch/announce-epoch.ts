import type { EpochPrice } from '../../core/events.ts'
import type { Epoch } from '../../core/records.ts'
import { turnsOf } from '../../core/turns.ts'
import type { PrepareContext, View } from '../prepare/context.ts'
import { viewUnder } from './declare-epoch.ts'
import { designLogOf } from '../presets/designs.ts'
import { tellAfterEpoch, type EpochCause } from './epoch-hooks.ts'
import type { Standing } from '../prepare/standing.ts'

export interface DeclaredEpoch {
  readonly epoch: Epoch
  readonly view: View
}

/** An epoch that is recorded takes effect: the branch knows it, and events, hooks and log lines tell of it. */
export async function announceEpoch(
  context: PrepareContext,
  standing: Standing,
  before: View,
  epoch: Epoch,
  { why, forced, price }: { readonly why: EpochCause; readonly forced: boolean; readonly price?: EpochPrice },
): Promise<DeclaredEpoch> {
  const { branch, deps, emit } = context
  const view = viewUnder(context, standing, epoch)
  branch.standing.take(epoch)
  emit({
    type: 'epoch-declared',
    epoch: epoch.id,
    forced,
    reason: epoch.reason,
    before: before.load.count.high,
    after: view.load.count.high,
    covered: epoch.count,
    ...(epoch.recall !== undefined && { recall: epoch.recall }),
    ...(price !== undefined && { price }),
  })
  nameOrphans(context)
  await tellAfterEpoch(context, why, epoch, before, view)
  designLogOf(deps.policy).reduced?.(context, { before, after: view, epoch }).forEach(emit)
  return { epoch, view }
}

/** Calls that nobody will answer any more: only those of the newest step can still be waited for. */
function nameOrphans({ conversation: { items }, emit }: PrepareContext): void {
  const { pending, steps } = turnsOf(items)
  const newest = steps.at(-1)?.from ?? 0
  for (const index of pending.filter((at) => at < newest)) {
    const { id: item, callId, toolName: tool } = items[index]!
    emit({
      type: 'call-unanswered',
      item,
      ...(callId !== undefined && { callId }),
      ...(tool !== undefined && { tool }),
    })
  }
}

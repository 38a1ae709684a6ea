import { noteHighWater } from '../../epoch/needs-epoch.ts'
import type { PrepareContext, View } from '../context.ts'
import { limitsOf } from '../limits.ts'
import { lowerOutput } from '../output-reserve.ts'
import { mayRefine, refinedView } from '../refine-view.ts'
import { viewOf } from '../view.ts'
import type { TakenIn } from './take-in.ts'

/** A request, and what it weighs under the edits that stand. */
export interface Measured extends TakenIn {
  readonly view: View
  /** Its output cap was lowered, and that alone makes it fit. */
  readonly isOutputLowered: boolean
}

/** Measures the view. The output cap gives way before history does, where the policy permits and it is enough. */
export async function measure(taken: TakenIn): Promise<Measured> {
  const { request, moved, found, standing, edits } = taken
  const first = { context: taken.context, view: viewOf(taken.context, standing) }
  const mayTurn = mayRefine(first.context, first.view)
  const { context, view } = mayTurn ? await refinedView(first.context, standing, first.view) : first
  noteHighWater(context, view)
  const roomier = context.branch.wish.request === undefined ? withLessOutput(context, view) : undefined
  if (roomier === undefined) return { request, context, moved, found, standing, edits, view, isOutputLowered: false }
  return { ...taken, context: roomier, view: viewOf(roomier, standing), isOutputLowered: true }
}

function withLessOutput(context: PrepareContext, view: View): PrepareContext | undefined {
  const { deps, target, conversation, emit } = context
  const roomier = lowerOutput(context, view, limitsOf(deps, target, conversation))
  if (roomier === undefined) return undefined
  emit({
    type: 'output-lowered',
    asked: conversation.settings.maxOutputTokens!,
    to: roomier.conversation.changes!.maxOutputTokens!,
  })
  return roomier
}

import { designLogOf } from '../../presets/designs.ts'
import { passBudgetGate, type Permission } from '../../spending/budget-gate.ts'
import { closingTurn, finalStepOf, isUsedUp, withFewerTools } from '../final-turn.ts'
import { isCertainlyOver } from '../limits.ts'
import { tooLarge } from '../outgoing.ts'
import type { Reduced } from './reduce.ts'

/** A request that may leave, or that the budgets halt. */
export interface Permitted extends Reduced {
  readonly permission: Permission
  /** The policy makes it the last one of its session. */
  readonly isClosing: boolean
}

/** Whether it fits and can be paid for; a policy's closing turn takes the place of what does not fit. */
export async function permit(reduced: Reduced): Promise<Permitted> {
  const { context, standing, before, view, smallest } = reduced
  const final = finalStepOf(context)
  const closing =
    final !== undefined && isUsedUp(context, standing, before)
      ? (withFewerTools(context, view) ?? closingTurn(context, view, final))
      : undefined
  const leaving = closing?.view ?? view
  designLogOf(context.deps.policy)
    .decided?.(context, before, closing?.verdict.kind ?? 'proceed')
    .forEach(context.emit)
  // A guess, and the margin of an unknown model, may cost an epoch, not the request.
  if (isCertainlyOver(leaving.estimate, context.limit, context.conversation.settings))
    throw tooLarge(context, smallest ?? leaving)
  const permission = await passBudgetGate(context, leaving, closing?.verdict)
  return { ...reduced, permission, isClosing: closing !== undefined }
}

import { isChained } from '../../../core/count.ts'
import { designOf } from '../../presets/design.ts'
import { sentBefore } from '../../session/sent-request.ts'
import { passBudgetGate, type Permission } from '../../spending/budget-gate.ts'
import { CHAIN_IS_FULL, closingTurn, finalStepOf, isUsedUp, withFewerTools } from '../final-turn.ts'
import { isCertainlyOver, isOver } from '../limits.ts'
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
  const { request, context, moved, found, standing, edits, isOutputLowered } = reduced
  const { before, view, epoch, smallest, journal } = reduced
  const closing = closingOf(reduced)
  const leaving = closing?.view ?? view
  designOf(context.deps.policy)
    .log?.decided?.(context, before, closing?.verdict.kind ?? 'proceed')
    .forEach(context.emit)
  // A guess, and the margin of an unknown model, may cost an epoch, not the request.
  if (isCertainlyOver(leaving.estimate, context.limit)) throw tooLarge(context, smallest ?? leaving)
  const permission = await passBudgetGate(context, leaving, closing?.verdict)
  return {
    request,
    context,
    moved,
    found,
    standing,
    edits,
    isOutputLowered,
    before,
    view,
    epoch,
    smallest,
    journal,
    permission,
    isClosing: closing !== undefined,
  }
}

/** A policy's closing turn; and where the provider holds the history, all that can still be done about its size. */
function closingOf({ context, standing, before, view }: Reduced): Permission | undefined {
  const final = finalStepOf(context)
  // What is new was shortened before its first send: sent again, the request looks as if it had never been too large.
  const epoch = standing.epoch?.id
  const wasClosing = sentBefore(context, epoch)?.isClosing === true
  if (final !== undefined && (wasClosing || isUsedUp(context, standing, before)))
    return withFewerTools(context, view, epoch) ?? closingTurn(context, view, final, epoch)
  const { conversation, limit } = context
  if (!isChained(conversation.settings) || !(wasClosing || isOver(before.load, limit))) return undefined
  return closingTurn(context, view, CHAIN_IS_FULL, epoch)
}

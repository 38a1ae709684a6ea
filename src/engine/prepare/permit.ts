import type { FinalStep } from '../../core/policy.ts'
import type { Conversation } from '../../core/conversation.ts'
import { isChained } from '../../core/count.ts'
import type { Limit, Verdict } from '../../core/target.ts'
import { withNewHead } from '../epoch/bound-thinking.ts'
import type { PrepareContext, View, Permission, Standing, Permitted, Reduced } from './context.ts'
import { anchorFor, occupancyOf, textTokensOf, isOver, isCertainlyOver } from './counting.ts'
import { designOf } from '../presets/design.ts'
import { sentBefore } from '../session/record.ts'
import { passBudgetGate } from '../spending/calls.ts'
import { tooLarge } from './outgoing.ts'

/** Whether it fits and can be paid for; a policy's closing turn takes the place of what does not fit. */
export async function permit(reduced: Reduced): Promise<Permitted> {
  const { context, before, view, smallest } = reduced
  const closing = closingOf(reduced)
  const leaving = closing?.view ?? view
  designOf(context.deps.policy)
    .log?.decided?.(context, before, closing?.verdict.kind ?? 'proceed')
    .forEach(context.emit)
  // A guess, and the margin of an unknown model, may cost an epoch, not the request.
  if (isCertainlyOver(leaving.estimate, context.limit)) throw tooLarge(context, smallest ?? leaving)
  const permission = await passBudgetGate(context, leaving, closing?.verdict)
  return { ...reduced, permission, isClosing: closing !== undefined }
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

/** The policy's closing turn, if it has one. */
export const finalStepOf = ({ deps }: PrepareContext): FinalStep | undefined =>
  deps.policy.cascade.find((step) => step.step === 'final')

/** The closing turn of a history that the provider holds and nobody can make smaller. */
const CHAIN_IS_FULL: FinalStep = {
  step: 'final',
  tools: [],
  instruction:
    'The context window of this conversation is nearly full. Answer now with what you have: say what is done, what was found and what is left. Call no tools.',
}

/** Where what is new is all that can give way, room is left for the line that closes the conversation. */
export function withRoomToClose(context: PrepareContext): PrepareContext {
  const { conversation, limit } = context
  if (!isChained(conversation.settings)) return context
  const tokens = Math.max(0, limit.tokens - textTokensOf(context)(CHAIN_IS_FULL.instruction))
  return { ...context, limit: { ...limit, tokens } }
}

/** An output cap that changes from request to request makes no other target. */
const MORE_ROOM = 1.2

/**
 * Whether the context is used up: what came in was over the limit by the design's own count or by ours, or an earlier request of
 * this history was. The reason is sticky: a session that had to close does not open again.
 */
export function isUsedUp(context: PrepareContext, standing: Standing, before: View): boolean {
  const { limit, deps, branch } = context
  const { tokens } = before.load.count
  return (
    tokens > limit.tokens ||
    isOver(before.load, limit) ||
    (standing.epoch?.forced === true &&
      standing.epoch.policy === deps.policy.name &&
      !hasMoreRoom(limit, standing.epoch)) ||
    // A result that had no room: the design lets the model answer with what it has.
    (branch.log.toolBudgetExceeded && !hasMoreRoom(limit, { limit: branch.log.toolBudgetLimit })) ||
    [...standing.firstSend.values()].some((edit) => edit.cause === 'window' && !hasMoreRoom(limit, edit))
  )
}

/** Where the session closes, the view with the weight of the line that closes it: what has to fit is what leaves. */
export function withClosingLine(context: PrepareContext, standing: Standing, view: View): View {
  const final = finalStepOf(context)
  if (final === undefined || !isUsedUp(context, standing, view)) return view
  const { count } = view.load
  const high = count.high + textTokensOf(context)(final.instruction)
  return { ...view, load: { ...view.load, count: { ...count, high } } }
}

/** Another target than the one where there was no room: what was used up there is not used up here. */
const hasMoreRoom = ({ tokens }: Limit, { limit }: { readonly limit?: number }): boolean =>
  limit !== undefined && tokens > limit * MORE_ROOM

/**
 * Where the tool declarations alone make a request too large, those that the policy lists as dispensable go first; undefined when
 * that is not enough or nothing is listed.
 */
function withFewerTools(context: PrepareContext, view: View, epoch: string | undefined): Permission | undefined {
  const { deps, codec, target, limit } = context
  const { tools } = deps.policy
  if (tools === undefined) return undefined
  const names = view.conversation.tools.map(({ name }) => name)
  const kept = names.filter((name) => (tools.allow?.includes(name) ?? true) && tools.deny?.includes(name) !== true)
  if (kept.length === names.length) return undefined
  const { conversation, headers } = withNewHead(context, view, { keepTools: kept })
  const { text, bytes = Buffer.byteLength(text) } = codec.encode(conversation)
  const smaller = { ...view.conversation, tools: view.conversation.tools.filter(({ name }) => kept.includes(name)) }
  const loads = weigh(context, smaller, bytes, epoch)
  const { high } = loads.load.count
  if (high > limit.tokens) return undefined
  const numbers = { projected: high, limit: limit.tokens, margin: limit.tokens - high }
  return {
    verdict: { kind: 'proceed', target, reason: 'tools filtered', ...numbers },
    view: { ...view, conversation, headers, text, splices: undefined, ...loads },
  }
}

/** What a view weighs with other tools or instructions: what the provider counted of the rest holds still. */
function weigh(
  context: PrepareContext,
  conversation: Conversation,
  bytes: number,
  epoch: string | undefined,
): Pick<View, 'measurement' | 'load' | 'estimate'> {
  const measurement = context.deps.meter.measure(context.gauge, conversation, bytes)
  // Our own count, without a design's projection or the margin of an unknown model: both close a session, and this request is the closing.
  const load = occupancyOf(context, conversation, measurement, anchorFor(context, epoch), epoch)
  return { measurement, estimate: load, load }
}

/** The view as a closing turn: only the allowed tools, and the instruction to answer now. */
function closingTurn(
  context: PrepareContext,
  view: View,
  { tools, instruction }: FinalStep,
  epoch: string | undefined,
): Permission {
  const { codec, target, limit, emit } = context
  const { conversation, headers } = withNewHead(context, view, { keepTools: tools, addInstruction: instruction })
  const { text, bytes = Buffer.byteLength(text) } = codec.encode(conversation)
  // Read again from what will leave: the instruction is counted, and so are the tools that are left.
  const loads = weigh(context, codec.decode(text), bytes, epoch)
  const { high } = loads.load.count
  const verdict: Verdict = {
    kind: 'final',
    target,
    reason: 'context',
    projected: high,
    limit: limit.tokens,
    margin: limit.tokens - high,
  }
  if (high > limit.tokens) {
    emit({ type: 'warning', topic: 'context-guard', message: 'Still over limit after shrink' })
  }
  return { verdict, view: { ...view, conversation, headers, text, splices: undefined, ...loads } }
}

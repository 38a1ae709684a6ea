import type { FinalStep } from '../../core/policy.ts'
import type { Conversation } from '../../core/conversation.ts'
import { PlimsollError } from '../../core/errors.ts'
import type { Item } from '../../core/item.ts'
import { isChained } from '../../core/count.ts'
import type { Limit } from '../../core/target.ts'
import { withNewHead } from '../epoch/bound-thinking.ts'
import type { PrepareContext, View, Permission, Standing, Permitted, Reduced } from './context.ts'
import { isCertainlyOver, isOver, occupancyOf, textTokensOf } from './counting.ts'
import { designOf } from '../presets/design.ts'
import { sentBefore } from '../session/record.ts'
import { passBudgetGate } from '../spending/calls.ts'

/** Whether it fits and can be paid for; a policy's closing turn takes the place of what does not fit. */
export async function permit(reduced: Reduced): Promise<Permitted> {
  const { context, standing, before, view, smallest } = reduced
  const { deps, conversation, limit } = context
  const final = finalStepOf(context)
  const epoch = standing.epoch?.id
  // What is new was shortened before its first send: sent again, the request looks as if it had never been too large.
  const wasClosing = sentBefore(context, epoch)?.isClosing === true
  let closing: Permission | undefined
  if (final !== undefined && (wasClosing || isUsedUp(context, standing, before)))
    closing = withFewerTools(context, view, epoch) ?? closingTurn(context, view, final, epoch)
  // Where the provider holds the history, this is all that can still be done about its size.
  else if (isChained(conversation.settings) && (wasClosing || isOver(before.load, limit)))
    closing = closingTurn(context, view, CHAIN_IS_FULL, epoch)
  const leaving = closing?.view ?? view
  const { log } = designOf(deps.policy)
  log?.decided?.(context, before, closing?.verdict.kind ?? 'proceed').forEach(context.emit)
  // A guess, and the margin of an unknown model, may cost an epoch, not the request.
  if (isCertainlyOver(leaving.estimate, limit)) throw tooLarge(context, smallest ?? leaving)
  const permission = await passBudgetGate(context, leaving, closing?.verdict)
  return { ...reduced, permission, isClosing: closing !== undefined }
}

/** The policy's closing turn, if it has one. */
export const finalStepOf = ({ deps }: PrepareContext): FinalStep | undefined =>
  deps.policy.cascade.find((step) => step.step === 'final')

/** The closing turn of a history that the provider holds and we cannot make smaller. */
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
    // The margin of an unknown model may cost a compaction; it closes no session.
    isOver(before.estimate, limit) ||
    (standing.epoch?.forced === true &&
      standing.epoch.policy === deps.policy.name &&
      !hasMoreRoom(limit, standing.epoch)) ||
    // A result that had no room: the design lets the model answer with what it has.
    (branch.log.toolBudgetExceeded && !hasMoreRoom(limit, { limit: branch.log.toolBudgetLimit })) ||
    [...standing.firstSend.values()].some((edit) => edit.cause === 'window' && !hasMoreRoom(limit, edit))
  )
}

/** Where the session closes, the view with the weight of the line that closes it: what has to fit is what leaves. */
export function withClosingLine(
  context: PrepareContext,
  standing: Standing,
  view: View,
  { instruction }: FinalStep,
): View {
  if (!isUsedUp(context, standing, view)) return view
  const { count } = view.load
  const high = count.high + textTokensOf(context)(instruction)
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
  const { deps, target } = context
  const { tools } = deps.policy
  if (tools === undefined) return undefined
  const names = view.conversation.tools.map(({ name }) => name)
  const kept = names.filter((name) => (tools.allow?.includes(name) ?? true) && tools.deny?.includes(name) !== true)
  if (kept.length === names.length) return undefined
  const smaller = withHead(context, view, epoch, { keepTools: kept })
  if (smaller.margin < 0) return undefined
  const { view: leaving, ...numbers } = smaller
  return { verdict: { kind: 'proceed', target, reason: 'tools filtered', ...numbers }, view: leaving }
}

/** The view as a closing turn: only the allowed tools, and the instruction to answer now. */
function closingTurn(
  context: PrepareContext,
  view: View,
  { tools, instruction }: FinalStep,
  epoch: string | undefined,
): Permission {
  const { target, emit } = context
  const closed = withHead(context, view, epoch, { keepTools: tools, addInstruction: instruction })
  const { view: leaving, ...numbers } = closed
  if (closed.margin < 0) emit({ type: 'warning', topic: 'context-guard', message: 'Still over limit after shrink' })
  return { verdict: { kind: 'final', target, reason: 'context', ...numbers }, view: leaving }
}

/** The view with other tools or instructions, counted from what will leave; what the provider counted of the rest holds still. */
function withHead(
  context: PrepareContext,
  view: View,
  epoch: string | undefined,
  changes: Parameters<typeof withNewHead>[2],
): { readonly view: View; readonly projected: number; readonly limit: number; readonly margin: number } {
  const { deps, codec, gauge, limit } = context
  const changed = withNewHead(context, view, changes)
  const written = codec.decode(changed.text)
  const measurement = deps.meter.measure(gauge, written, changed.load.bytes)
  // Our own count, without a design's projection or the margin of an unknown model: both close a session, and this request is the closing.
  const load = occupancyOf(context, written, measurement, epoch)
  const { high } = load.count
  const leaving = { ...changed, measurement, estimate: load, load }
  return { view: leaving, projected: high, limit: limit.tokens, margin: limit.tokens - high }
}

/** Names the largest parts, so that a person can do something about one of them. */
function tooLarge({ deps, gauge, limit }: PrepareContext, { conversation, load }: View): PlimsollError {
  const parts = largestParts(conversation, (item) => deps.meter.countItem(gauge, item).tokens)
  const named = parts.map((part) => `${part.what} (${part.tokens.toLocaleString('en')})`).join(', ')
  const needed = Math.ceil(load.count.high)
  return new PlimsollError(
    'fixed-overhead',
    `The context needs ${needed.toLocaleString('en')} tokens and ${limit.tokens.toLocaleString('en')} fit, although everything ` +
      `that may be reduced was. Largest parts: ${named}.`,
    {
      advice:
        'Shorten the instructions or tools, unpin items, lower the output reserve, or choose a model with a larger window.',
      fields: {
        needed,
        least: Math.floor(load.count.low),
        limit: limit.tokens,
        window: limit.window,
        bytes: load.bytes,
        parts,
      },
    },
  )
}

/** The heaviest parts of a request, in words that a person can act on. */
function largestParts({ head, tools, items }: Conversation, tokensOf: (item: Item) => number) {
  const sum = (some: readonly Item[]): number => some.reduce((total, item) => total + tokensOf(item), 0)
  const declarations = tools.map(({ text }): Item => ({ id: '', kind: 'opaque', role: 'system', text, message: -1 }))
  const named = items.map((item) => {
    const tool = item.toolName === undefined ? '' : ` of ${item.toolName}`
    return { what: `${item.kind}${tool} ${item.id}`, tokens: tokensOf(item) }
  })
  return [
    { what: 'instructions', tokens: sum(head) },
    { what: `${tools.length} tool declarations`, tokens: sum(declarations) },
    ...named,
  ]
    .map(({ what, tokens }) => ({ what, tokens: Math.round(tokens) }))
    .filter(({ tokens }, place) => tokens > 0 || place > 1)
    .sort((a, b) => b.tokens - a.tokens)
    .slice(0, 4)
}

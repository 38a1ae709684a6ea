import type { FinalStep } from '../../core/policy.ts'
import type { Limit, Load, Verdict } from '../../core/target.ts'
import type { Measurement } from '../../meter/index.ts'
import { withNewHead } from '../epoch/bound-thinking.ts'
import type { PrepareContext, View } from './context.ts'
import { isOver } from './limits.ts'
import type { Permission } from '../spending/budget-gate.ts'
import type { Standing } from './standing.ts'

/** The policy's closing turn, if it has one. */
export const finalStepOf = ({ deps }: PrepareContext): FinalStep | undefined =>
  deps.policy.cascade.find((step) => step.step === 'final')

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

/** Another target than the one where there was no room: what was used up there is not used up here. */
const hasMoreRoom = ({ tokens }: Limit, { limit }: { readonly limit?: number }): boolean =>
  limit !== undefined && tokens > limit * MORE_ROOM

/**
 * Where the tool declarations alone make a request too large, those that the policy lists as dispensable go first; undefined when
 * that is not enough or nothing is listed.
 */
export function withFewerTools(context: PrepareContext, view: View): Permission | undefined {
  const { deps, codec, gauge, target, limit } = context
  const { tools } = deps.policy
  if (tools === undefined) return undefined
  const names = view.conversation.tools.map(({ name }) => name)
  const kept = names.filter((name) => (tools.allow?.includes(name) ?? true) && tools.deny?.includes(name) !== true)
  if (kept.length === names.length) return undefined
  const { conversation, headers } = withNewHead(context, view, { keepTools: kept })
  const text = codec.encode(conversation).text
  const smaller = { ...view.conversation, tools: view.conversation.tools.filter(({ name }) => kept.includes(name)) }
  const loads = changed(view, deps.meter.measure(gauge, smaller, Buffer.byteLength(text)))
  const { high } = loads.load.count
  if (high > limit.tokens) return undefined
  const numbers = { projected: high, limit: limit.tokens, margin: limit.tokens - high }
  return {
    verdict: { kind: 'proceed', target, reason: 'tools filtered', ...numbers },
    view: { ...view, conversation, headers, text, ...loads },
  }
}

/** What a view weighs after its tools or instructions changed: what is known of the rest, by the provider's own count, still holds. */
function changed(
  { measurement: old, load, estimate }: View,
  measurement: Measurement,
): Pick<View, 'measurement' | 'load' | 'estimate'> {
  const moved = <L extends Load>(known: L): L => ({
    ...known,
    bytes: measurement.bytes,
    count: {
      ...known.count,
      tokens: Math.max(0, known.count.tokens + measurement.count.tokens - old.count.tokens),
      low: Math.max(0, known.count.low + measurement.count.low - old.count.low),
      high: Math.max(0, known.count.high + measurement.count.high - old.count.high),
    },
  })
  return { measurement, load: moved(load), estimate: moved(estimate) }
}

/** The view as a closing turn: only the allowed tools, and the instruction to answer now. */
export function closingTurn(context: PrepareContext, view: View, { tools, instruction }: FinalStep): Permission {
  const { codec, deps, gauge, target, limit, emit } = context
  const { conversation, headers } = withNewHead(context, view, { keepTools: tools, addInstruction: instruction })
  const text = codec.encode(conversation).text
  // Read again from what will leave: the instruction is counted, and so are the tools that are left.
  const loads = changed(view, deps.meter.measure(gauge, codec.decode(text), Buffer.byteLength(text)))
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
  return { verdict, view: { ...view, conversation, headers, text, ...loads } }
}

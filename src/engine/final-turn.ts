import { changeEnvelope } from '../core/edits.ts'
import type { FinalStep } from '../core/policy.ts'
import type { Verdict } from '../core/target.ts'
import { isOver, type PrepareContext, type View } from './context.ts'
import type { Permission } from './guard.ts'
import type { Standing } from './standing.ts'

/** The policy's closing turn, if it has one. */
export const finalStepOf = ({ deps }: PrepareContext): FinalStep | undefined =>
  deps.policy.cascade.find((step) => step.step === 'final')

/**
 * Whether the context is used up: what came in was over the limit by the design's own count or by ours, or an earlier request of
 * this history was. The reason is sticky: a session that had to close does not open again.
 */
export function isUsedUp(context: PrepareContext, standing: Standing, before: View): boolean {
  const { limit, deps } = context
  const { tokens } = before.load.count
  return (
    tokens > limit.tokens ||
    isOver(before.load, limit) ||
    (standing.epoch?.forced === true && standing.epoch.policy === deps.policy.name)
  )
}

/** The view as a closing turn: only the allowed tools, and the instruction to answer now. */
export function closingTurn(context: PrepareContext, view: View, { tools, instruction }: FinalStep): Permission {
  const { codec, deps, target, limit, emit } = context
  const conversation = changeEnvelope(view.conversation, { keepTools: tools, addInstruction: instruction })
  const text = codec.encode(conversation).text
  const kept = { ...view.conversation, tools: view.conversation.tools.filter(({ name }) => tools.includes(name)) }
  const measurement = deps.meter.measure(target, kept, Buffer.byteLength(text))
  const { high } = measurement.count
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
  return { verdict, view: { ...view, conversation, text, load: measurement, measurement } }
}

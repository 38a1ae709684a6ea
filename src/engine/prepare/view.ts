import { changeEnvelope } from '../../core/edits.ts'
import { outgoingOf } from '../memo/edited-prefix-memo.ts'
import { shownItems } from '../memo/epoch-view-memo.ts'
import { declared, toolsFor } from '../readers/offered-tools.ts'
import type { PrepareContext, View } from './context.ts'
import { anchorFor, loadsOf } from './counting.ts'
import type { Standing } from './standing.ts'

/** Applies what stands and measures the result. */
export function viewOf(context: PrepareContext, standing: Standing): View {
  const { deps } = context
  const { plan, items, stale } = shownItems(context, standing)
  const shown = plan.length === 0 ? context.conversation : { ...context.conversation, items }
  const offered = declared(shown, toolsFor(context.offer, standing.epoch !== undefined, plan.length > 0))
  const edited = context.offer.forbids ? changeEnvelope(offered, { forbidTools: 'strictly' }) : offered
  const conversation = stale ? changeEnvelope(edited, { dropStaleThinking: true }) : edited
  const outgoing = outgoingOf(context, conversation, plan)
  const measurement = deps.meter.measure(context.gauge, conversation, outgoing.bytes)
  const anchor = anchorFor(context, standing.epoch?.id)
  const { estimate, load } = loadsOf(context, conversation, measurement, { anchor, epoch: standing.epoch?.id })
  return {
    plan,
    conversation,
    text: outgoing.text,
    outgoing,
    headers: stale ? context.codec.traits.staleThinkingHeaders : {},
    measurement,
    estimate,
    load,
  }
}

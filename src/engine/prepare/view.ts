import { applyEdits, changeEnvelope } from '../../core/edits.ts'
import { exactly } from '../../core/count.ts'
import { straddles } from '../../meter/index.ts'
import { releasedThinking } from '../epoch/bound-thinking.ts'
import { decidingCount, highWater, isHigh } from '../epoch/thresholds.ts'
import { declared, toolsFor } from '../readers/offered-tools.ts'
import type { Measured, PrepareContext, Standing, TakenIn, View } from './context.ts'
import { countAhead, loadsOf } from './counting.ts'
import { standingPlan } from './standing.ts'

/** Measures the view. */
export async function measure(taken: TakenIn): Promise<Measured> {
  const { standing } = taken
  const { branch, deps, limit, emit } = taken.context
  const { cacheIsWarm } = branch.log
  const seen = taken.seen ?? viewOf(taken.context, standing)
  const threshold = highWater(deps.policy, limit, cacheIsWarm)
  // A design decides by its own formula; there is nothing to sharpen.
  const mayRefine = deps.meter.design === undefined && straddles(seen.load, threshold)
  const { context, view } = mayRefine
    ? await refinedView(taken.context, standing, seen, threshold)
    : { context: taken.context, view: seen }
  // One event for each time that the load comes to high water, by the same arithmetic that starts a reduction.
  if (branch.requests.rose(isHigh(deps.policy, limit, view.load, cacheIsWarm))) {
    const load = view.load.count[decidingCount(deps.policy)]
    emit({ type: 'compaction-needed', load, threshold })
  }
  return { ...taken, context, view }
}

/** Applies what stands and measures the result. */
export function viewOf(context: PrepareContext, standing: Standing): View {
  const { deps, codec, gauge, offer, links, target, conversation: asked } = context
  const { epoch } = standing
  const stands = epoch !== undefined || standing.firstSend.size > 0
  const edits = stands ? standingPlan(standing, asked.items, links) : []
  // Stale: thinking that is bound to a prefix that is gone.
  const { drops, stale } = deps.catalogue.resolve(target.model).info.bindsThinking
    ? releasedThinking(epoch, edits, asked.items, links, offer.unbinds)
    : { drops: [], stale: false }
  const plan = [...edits, ...drops]
  const shown = plan.length === 0 ? asked : { ...asked, items: applyEdits(asked, plan).items }
  let conversation = declared(shown, toolsFor(offer, epoch !== undefined, plan.length > 0))
  if (offer.forbids) conversation = changeEnvelope(conversation, { forbidTools: 'strictly' })
  if (stale) conversation = changeEnvelope(conversation, { dropStaleThinking: true })
  const isUntouched = plan.length === 0 && conversation.changes === undefined && conversation.isRestored !== true
  const { text } = isUntouched ? context : codec.encode(conversation)
  const bytes = isUntouched ? context.bytes : Buffer.byteLength(text)
  const measurement = deps.meter.measure(gauge, conversation, bytes)
  return {
    plan,
    conversation,
    text,
    headers: stale ? codec.traits.staleThinkingHeaders : {},
    measurement,
    ...loadsOf(context, conversation, measurement, epoch?.id),
  }
}

/**
 * The view with a sharper count, where its interval does not say on which side of high water it stands: by the exact tokenizer if one
 * is installed, then by the provider's own count if the caller allows the call. Anywhere else the estimate is good enough, and free.
 */
async function refinedView(
  context: PrepareContext,
  standing: Standing,
  view: View,
  threshold: number,
): Promise<{ readonly context: PrepareContext; readonly view: View }> {
  const { deps, target, conversation } = context
  const { sharpen, countTokens } = deps
  let sharp = { context, view }
  if (context.gauge.estimated === true && (await attempt(async () => sharpen?.(target.model))) === true) {
    const gauge = { ...context.gauge, estimated: false }
    await countAhead(deps, gauge, view.conversation, 0)
    sharp = { context: { ...context, gauge }, view: viewOf({ ...context, gauge }, standing) }
  }
  const { load, estimate, text } = sharp.view
  if (!straddles(load, threshold)) return sharp
  const told = await attempt(async () => countTokens?.({ format: conversation.format, target, body: text }))
  if (told === undefined || !(told > 0)) return sharp
  const count = exactly(told, 'provider')
  return { ...sharp, view: { ...sharp.view, load: { ...load, count }, estimate: { ...estimate, count } } }
}

/** A sharper count is a luxury: without it the upper bound still decides safely. */
const attempt = <T>(step: () => Promise<T>): Promise<T | undefined> => step().catch(() => undefined)

import { applyEdits, changeEnvelope, type Plan } from '../../core/edits.ts'
import type { Item } from '../../core/item.ts'
import { refine, straddles } from '../../meter/index.ts'
import { releasedThinking } from '../epoch/bound-thinking.ts'
import { decidingCount, highWater, isHigh } from '../epoch/thresholds.ts'
import { declared, toolsFor } from '../readers/offered-tools.ts'
import type { Measured, PrepareContext, Standing, TakenIn, View } from './context.ts'
import { anchorFor, countAhead, loadsOf } from './counting.ts'
import { limitsOf, lowerOutput } from './limits.ts'
import { standingPlan } from './standing.ts'

/** Measures the view. The output cap gives way before history does, where the policy permits and it is enough. */
export async function measure(taken: TakenIn): Promise<Measured> {
  const { standing } = taken
  const first = { context: taken.context, view: taken.seen ?? viewOf(taken.context, standing) }
  const mayTurn = mayRefine(first.context, first.view)
  const { context, view } = mayTurn ? await refinedView(first.context, standing, first.view) : first
  const { branch, deps, limit, emit } = context
  const { cacheIsWarm } = branch.log
  // One event for each time that the load comes to high water, by the same arithmetic that starts a reduction.
  if (branch.requests.rose(isHigh(deps.policy, limit, view.load, cacheIsWarm))) {
    const load = view.load.count[decidingCount(deps.policy)]
    emit({ type: 'compaction-needed', load, threshold: highWater(deps.policy, limit, cacheIsWarm) })
  }
  const roomier = context.branch.wish.request === undefined ? withLessOutput(context, view) : undefined
  if (roomier === undefined) return { ...taken, context, view, isOutputLowered: false }
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

/** Applies what stands and measures the result. */
export function viewOf(context: PrepareContext, standing: Standing): View {
  const { deps, codec, text: source, bytes: sourceBytes } = context
  const { plan, items, stale } = shownItems(context, standing)
  const shown = plan.length === 0 ? context.conversation : { ...context.conversation, items }
  const offered = declared(shown, toolsFor(context.offer, standing.epoch !== undefined, plan.length > 0))
  const edited = context.offer.forbids ? changeEnvelope(offered, { forbidTools: 'strictly' }) : offered
  const conversation = stale ? changeEnvelope(edited, { dropStaleThinking: true }) : edited
  const isUntouched = plan.length === 0 && conversation.changes === undefined && conversation.isRestored !== true
  const { text, bytes, splices } = isUntouched
    ? { text: source, bytes: sourceBytes, splices: undefined }
    : codec.encode(conversation)
  const measurement = deps.meter.measure(context.gauge, conversation, bytes ?? Buffer.byteLength(text))
  const anchor = anchorFor(context, standing.epoch?.id)
  const { estimate, load } = loadsOf(context, conversation, measurement, { anchor, epoch: standing.epoch?.id })
  return {
    plan,
    conversation,
    text,
    splices,
    headers: stale ? codec.traits.staleThinkingHeaders : {},
    measurement,
    estimate,
    load,
  }
}

/** The items as the model gets to see them. `stale`: thinking in them is bound to a prefix that is gone. */
function shownItems(
  { deps, conversation, links, offer, target }: PrepareContext,
  standing: Standing,
): { readonly plan: Plan; readonly items: readonly Item[]; readonly stale: boolean } {
  const { items } = conversation
  const edits = standingPlan(standing, items, links)
  const { drops, stale } = deps.catalogue.resolve(target.model).info.bindsThinking
    ? releasedThinking(standing.epoch, edits, items, links, offer.unbinds)
    : { drops: [], stale: false }
  const plan = drops.length === 0 ? edits : [...edits, ...drops]
  return { plan, items: applyEdits({ items }, plan).items, stale }
}

const thresholdOf = ({ deps, branch, limit }: PrepareContext): number =>
  highWater(deps.policy, limit, branch.log.cacheIsWarm)

/** Whether a sharper count can be had, and may decide anything. */
function mayRefine(context: PrepareContext, { load }: View): boolean {
  const { sharpen, countTokens, meter } = context.deps
  // A design decides by its own formula; there is nothing to sharpen.
  if ((sharpen === undefined && countTokens === undefined) || meter.design !== undefined) return false
  return straddles(load, thresholdOf(context))
}

/**
 * The view with a sharper count, where its interval does not say on which side of high water it stands: by the exact tokenizer if one
 * is installed, then by the provider's own count if the caller allows the call. Anywhere else the estimate is good enough, and free.
 */
async function refinedView(
  context: PrepareContext,
  standing: Standing,
  view: View,
): Promise<{ readonly context: PrepareContext; readonly view: View }> {
  const { deps, target, conversation } = context
  const { sharpen, countTokens } = deps
  const threshold = thresholdOf(context)
  let current = { context, view }
  const measure = (): { readonly count: View['load']['count'] } => ({ count: current.view.load.count })
  const { count } = await refine({
    measure,
    threshold,
    ...(sharpen !== undefined &&
      context.gauge.estimated === true && {
        loadTokenizer: async () => {
          if (!(await sharpen(target.model))) return false
          const sharp = { ...context, gauge: { ...context.gauge, estimated: false } }
          await countAhead(deps, sharp.gauge, view.conversation, 0)
          current = { context: sharp, view: viewOf(sharp, standing) }
          return true
        },
      }),
    ...(countTokens !== undefined && {
      askProvider: () => countTokens({ format: conversation.format, target, body: current.view.text }),
    }),
  })
  const { load, estimate } = current.view
  if (count === load.count) return current
  const told = { ...current.view, load: { ...load, count }, estimate: { ...estimate, count } }
  return { context: current.context, view: told }
}

import { refine, straddles } from '../../meter/index.ts'
import type { PrepareContext, View } from './context.ts'
import { countAhead } from './stages/count-ahead.ts'
import { viewOf } from './view.ts'
import type { Standing } from './standing.ts'
import { highWater } from '../epoch/thresholds.ts'

const thresholdOf = ({ deps, branch, limit }: PrepareContext): number =>
  highWater(deps.policy, limit, branch.log.cacheIsWarm)

/** Whether a sharper count can be had, and may decide anything. */
export function mayRefine(context: PrepareContext, { load }: View): boolean {
  const { sharpen, countTokens, meter } = context.deps
  // A design decides by its own formula; there is nothing to sharpen.
  if ((sharpen === undefined && countTokens === undefined) || meter.design !== undefined) return false
  return straddles(load, thresholdOf(context))
}

/**
 * The view with a sharper count, where its interval does not say on which side of high water it stands: by the exact tokenizer if one
 * is installed, then by the provider's own count if the caller allows the call. Anywhere else the estimate is good enough, and free.
 */
export async function refinedView(
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
          await countAhead(deps, sharp.gauge, view.conversation, 0, context.pause)
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

import { refine, straddles } from '../../meter/index.ts'
import type { PrepareContext, View } from './context.ts'
import { viewOf } from './view.ts'
import type { Standing } from './standing.ts'
import { highWater } from '../epoch/thresholds.ts'

/**
 * The view with a sharper count, where its interval does not say on which side of high water it stands: by the exact tokenizer if one
 * is installed, then by the provider's own count if the caller allows the call. Anywhere else the estimate is good enough, and free.
 */
export async function refinedView(context: PrepareContext, standing: Standing, view: View): Promise<View> {
  const { deps, branch, target, limit, conversation } = context
  const { sharpen, countTokens, meter, policy } = deps
  // A design decides by its own formula; there is nothing to sharpen.
  if ((sharpen === undefined && countTokens === undefined) || meter.design !== undefined) return view
  const threshold = highWater(policy, limit, branch.log.cacheIsWarm)
  let current = view
  const measure = (): { readonly count: View['load']['count'] } => ({ count: current.load.count })
  if (!straddles(measure(), threshold)) return view
  const { count } = await refine({
    measure,
    threshold,
    ...(sharpen !== undefined && {
      loadTokenizer: async () => {
        if (!(await sharpen(target.model))) return false
        current = viewOf(context, standing)
        return true
      },
    }),
    ...(countTokens !== undefined && {
      askProvider: () => countTokens({ format: conversation.format, target, body: current.text }),
    }),
  })
  if (count === current.load.count) return current
  return { ...current, load: { ...current.load, count }, estimate: { ...current.estimate, count } }
}

import { isPlimsollError } from '../../../core/errors.ts'
import type { Target } from '../../../core/target.ts'
import type { EngineDeps } from '../../deps.ts'
import type { Branch } from '../../session/branch/branch.ts'
import type { ContextRequest, PrepareContext } from '../context.ts'
import { finalStepOf, isUsedUp } from '../final-turn.ts'
import { isOver } from '../limits.ts'
import { findStanding } from '../standing.ts'
import { viewOf } from '../view.ts'

/** Opens a request for one target. */
export type OpenAt = (deps: EngineDeps, branch: Branch, request: ContextRequest) => Promise<PrepareContext>

/**
 * Asks every target in order: the first on which the request fits as it stands gets it, and those before it are skipped. Where it fits on none,
 * the one with the most room loses least.
 */
export async function chooseTarget(
  deps: EngineDeps,
  branch: Branch,
  request: ContextRequest & { readonly targets: readonly Target[] },
  openAt: OpenAt,
): Promise<PrepareContext> {
  const skipped: (() => void)[] = []
  let roomiest: PrepareContext | undefined
  let failed: unknown
  for (const target of request.targets) {
    const context = await openAt(deps, branch, { ...request, targets: [target] }).catch((error: unknown) => {
      if (!isPlimsollError(error, 'limit-not-positive')) throw error
      failed = error
      return undefined
    })
    if (context === undefined) continue
    const standing = await findStanding(context)
    const view = viewOf(context, standing)
    const { load } = view
    const isClosed = finalStepOf(context) !== undefined && isUsedUp(context, standing, view)
    if (!isClosed && !isOver(load, context.limit)) {
      skipped.forEach((tell) => tell())
      return context
    }
    const { tokens: limit } = context.limit
    const numbers = { projected: load.count.high, limit, margin: limit - load.count.high }
    skipped.push(() =>
      context.emit({ type: 'verdict-given', verdict: { kind: 'skip', target, reason: 'does not fit', ...numbers } }),
    )
    if (roomiest === undefined || limit > roomiest.limit.tokens) roomiest = context
  }
  if (roomiest === undefined) throw failed
  return roomiest
}

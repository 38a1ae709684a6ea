import type { Limit, Load } from '../../core/target.ts'
import type { Branch } from '../session/branch/branch.ts'
import type { ContextRequest } from './context.ts'
import { openContext } from './stages/open.ts'
import { viewOf } from './view.ts'
import type { EngineDeps } from '../deps.ts'
import { findStanding } from './standing.ts'

/** A request under the edits that stand for it. */
export interface StandingView {
  readonly text: string
  readonly headers: Readonly<Record<string, string>>
  readonly load: Load
  readonly limit: Limit
}

/** What a request looks like under everything decided so far. Decides nothing and keeps nothing. */
export async function standingView(deps: EngineDeps, branch: Branch, request: ContextRequest): Promise<StandingView> {
  const context = await openContext(deps, branch, request)
  const { text, headers, estimate } = viewOf(context, await findStanding(context))
  return { text, headers, load: estimate, limit: context.limit }
}

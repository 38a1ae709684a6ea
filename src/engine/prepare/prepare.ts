import { DOES_NOT_FIT, isPlimsollError } from '../../core/errors.ts'
import type { Limit, Load } from '../../core/target.ts'
import { nextRound } from '../../util/yield-now.ts'
import type { EngineDeps } from '../deps.ts'
import type { Branch } from '../session/branch.ts'
import { tellRefused } from '../spending/calls.ts'
import { takeIn } from '../tool-results/first-send.ts'
import type { Measured, ReadRequest, ReadyRequest } from './context.ts'
import { finalise } from './finish.ts'
import { open } from './open.ts'
import { permit } from './permit.ts'
import { reduce, writtenOut } from './reduce.ts'
import { resolveStanding } from './standing.ts'
import { measure, viewOf } from './view.ts'

export type { PreparedTurn, PrepareRequest, ReadRequest, ReadyRequest } from './context.ts'

/** Before the model is called: a row of stages, each of which adds to what the one before found out. */
export async function prepare(deps: EngineDeps, branch: Branch, request: ReadRequest): Promise<ReadyRequest> {
  try {
    const asked = await measured(deps, branch, request)
    const whole = await writtenOut(asked)
    const reduced = await reduce(whole === undefined ? asked : await measured(deps, branch, whole))
    await letOthers(request)
    return await finalise(await permit(reduced), request.text)
  } catch (error) {
    if (isPlimsollError(error) && DOES_NOT_FIT.has(error.code)) {
      const { targets, conversation } = request
      const model = targets[0]?.model ?? conversation.settings.model ?? 'unknown'
      tellRefused(deps, branch, { by: 'plimsoll', model, code: error.code })
    }
    throw error
  }
}

async function measured(deps: EngineDeps, branch: Branch, request: ReadRequest): Promise<Measured> {
  const opened = await open(deps, branch, request)
  await letOthers(request)
  const taken = await takeIn(resolveStanding(opened))
  await letOthers(request)
  return await measure(taken)
}

/** Characters from which on a request is long: between its stages other requests get their turn. */
const LONG_REQUEST = 1024 * 1024

const letOthers = ({ text }: ReadRequest): Promise<void> | undefined =>
  text.length < LONG_REQUEST ? undefined : nextRound()

/** A request under the edits that stand for it. */
export interface StandingView {
  readonly text: string
  readonly headers: Readonly<Record<string, string>>
  readonly load: Load
  readonly limit: Limit
}

/** What a request looks like under everything decided so far. Decides nothing and keeps nothing. */
export async function standingView(deps: EngineDeps, branch: Branch, request: ReadRequest): Promise<StandingView> {
  const { context, found, seen = viewOf(context, found) } = await open(deps, branch, request)
  return { text: seen.text, headers: seen.headers, load: seen.estimate, limit: context.limit }
}

import { DOES_NOT_FIT, isPlimsollError } from '../../core/errors.ts'
import type { EngineDeps } from '../deps.ts'
import type { Branch } from '../session/branch/branch.ts'
import { tellRefused } from '../spending/calls.ts'
import type { PreparedTurn, PrepareRequest } from './prepared-turn.ts'
import { finalise } from './stages/finalise.ts'
import { measure } from './stages/measure.ts'
import { open } from './stages/open.ts'
import { permit } from './stages/permit.ts'
import { reduce } from './stages/reduce.ts'
import { resolveStanding } from './stages/resolve-standing.ts'
import { takeIn } from './stages/take-in.ts'
import { writtenOut } from './stages/write-out.ts'

export type { PreparedTurn, PrepareRequest } from './prepared-turn.ts'

/** Before the model is called. Each stage is a file of `stages/`, and adds to what the one before found out. */
export async function prepare(deps: EngineDeps, branch: Branch, request: PrepareRequest): Promise<PreparedTurn> {
  try {
    const opened = { request, context: await open(deps, branch, request) }
    const { pause } = opened.context
    const resolved = await resolveStanding(opened)
    await pause()
    const taken = await takeIn(resolved)
    await pause()
    const measured = await measure(taken)
    await pause()
    const whole = request.writeOut === undefined ? undefined : await writtenOut(measured, request.writeOut)
    if (whole !== undefined) {
      // They are changes of another text than the one that came in.
      const { splices: _, ...turn } = await prepare(deps, branch, whole)
      return { ...turn, report: { ...turn.report, untouched: false } }
    }
    const reduced = await reduce(measured)
    await pause()
    const permitted = await permit(reduced)
    return await finalise(permitted)
  } catch (error) {
    if (isPlimsollError(error) && DOES_NOT_FIT.has(error.code))
      tellRefused(deps, branch, {
        by: 'plimsoll',
        model: request.targets?.[0]?.model ?? request.conversation?.settings.model ?? 'unknown',
        code: error.code,
      })
    throw error
  }
}

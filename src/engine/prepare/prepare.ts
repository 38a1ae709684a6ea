import { isChained } from '../../core/count.ts'
import { DOES_NOT_FIT, isPlimsollError } from '../../core/errors.ts'
import type { Limit, Load } from '../../core/target.ts'
import { nextRound } from '../../util/yield-now.ts'
import type { EngineDeps } from '../deps.ts'
import { takeSummary } from '../epoch/background-summary.ts'
import { makeEpoch, type MadeEpoch } from '../epoch/declare-epoch.ts'
import { needsEpoch, needsOneMore } from '../epoch/needs-epoch.ts'
import type { Branch } from '../session/branch.ts'
import { journalOf } from '../session/log.ts'
import { tellRefused } from '../spending/calls.ts'
import { takeIn, squeezeNew } from '../tool-results/first-send.ts'
import type { Measured, ReadRequest, ReadyRequest, Reduced } from './context.ts'
import { isOver } from './counting.ts'
import { newMessage, withAutoRecall } from './auto-recall.ts'
import { finalise } from './finish.ts'
import { open } from './open.ts'
import { finalStepOf, permit, withClosingLine, withRoomToClose } from './permit.ts'
import { resolveStanding } from './standing.ts'
import { measure, viewOf } from './view.ts'

export type { PreparedTurn, PrepareRequest, ReadRequest, ReadyRequest } from './context.ts'

/** Before the model is called: a row of stages, each of which adds to what the one before found out. */
export async function prepare(deps: EngineDeps, branch: Branch, request: ReadRequest): Promise<ReadyRequest> {
  try {
    const asked = await measured(deps, branch, request)
    const whole = isChained(request.conversation.settings) ? await writtenOut(request, asked) : undefined
    const taken = whole === undefined ? asked : await measured(deps, branch, whole)
    const message = newMessage(taken)
    const reduced = await withAutoRecall(await reduce(taken), message)
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

/**
 * Of a history that the provider holds nothing can be taken out. Where it no longer fits and all of it passed here, the request is written
 * out with it, names no earlier response, and goes the way of any other; what the provider keeps from then on is what was sent.
 */
async function writtenOut(request: ReadRequest, { context, view }: Measured): Promise<ReadRequest | undefined> {
  const { deps, branch, codec, gauge, limit } = context
  if (request.writeOut === undefined) return undefined
  // Without a count of the provider's only the history itself tells how full it is.
  const isUnmeasured = branch.log.measured === undefined
  if (!isUnmeasured && !isOver(view.load, limit)) return undefined
  const text = await request.writeOut()
  if (text === undefined) return undefined
  const conversation = deps.memo.bodies.decode(branch.tenant, codec, text)
  if (isUnmeasured && !isOver(deps.meter.measure(gauge, conversation, Buffer.byteLength(text)), limit)) return undefined
  // A hidden step would continue a request that the client never made.
  const tools = request.tools && { ...request.tools, withheld: true }
  const links = deps.memo.chain(conversation.items)
  return { ...request, text, conversation, links, tools, writeOut: undefined }
}

/** Above a threshold: an epoch, from a summary that is ready or from a new plan; where there is none, the new items alone give way. */
async function reduce(measured: Measured): Promise<Reduced> {
  const { context, standing, view: before, edits, moved, found } = measured
  const { deps, branch, conversation, limit } = context
  const decided = { standing: moved === undefined ? found : { ...found, epoch: undefined }, edits }
  const journal = journalOf(context, decided)
  let made: MadeEpoch = {}
  // What is folded here would not be folded by the provider, and a call's only output has to arrive: at most it is shown shorter.
  if (!isChained(conversation.settings)) {
    made = await takeSummary(context, standing, before, journal.write)
    if (made.declared === undefined) {
      const final = finalStepOf(context)
      const leaving = final === undefined ? before : withClosingLine(context, standing, before, final)
      if (needsEpoch(context, standing, leaving)) made = await makeEpoch(context, standing, leaving, journal.write)
    }
  }
  const { declared, smallest } = made
  const reduced = { ...measured, before, epoch: undefined, smallest, decided: decided.standing, journal }
  if (declared !== undefined) return { ...reduced, view: declared.view, epoch: declared.epoch }
  const squeezed = isOver(before.load, limit)
    ? await squeezeNew(withRoomToClose(context), standing, before, edits)
    : undefined
  if (squeezed === undefined && needsOneMore(context, standing, before)) {
    const last = await makeEpoch(context, standing, before, journal.write)
    if (last.declared !== undefined) return { ...reduced, ...last.declared }
  }
  if (moved !== undefined) {
    // An epoch that was moved, and stands: from here on it is found by what the client sends now.
    const after = (squeezed?.view ?? before).load.count.high
    const { epoch } = await deps.sessions.claimEpoch(branch.tenant, branch.session, { ...moved, after })
    branch.log.stand(epoch)
  }
  if (squeezed === undefined) return reduced
  return { ...reduced, ...squeezed, journal: journalOf(context, { ...decided, edits: squeezed.edits }) }
}

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

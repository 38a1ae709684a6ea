import { isChained } from '../../core/count.ts'
import type { Epoch } from '../../core/records.ts'
import type { DeclaredEpoch } from '../epoch/announce-epoch.ts'
import { takeSummary } from '../epoch/background-summary.ts'
import { makeEpoch } from '../epoch/make-epoch.ts'
import { needsEpoch } from '../epoch/needs-epoch.ts'
import { journalOf } from '../session/archive.ts'
import type { Journal, Measured, PrepareContext, ReadRequest, Reduced, Standing, View } from './context.ts'
import { squeezeNew } from '../tool-results/squeeze-new.ts'
import { isOver } from './limits.ts'
import { linksOf } from './open.ts'
import { withClosingLine, withRoomToClose } from './permit.ts'

/**
 * Of a history that the provider holds nothing can be taken out. Where it no longer fits and all of it passed here, the request is written
 * out with it, names no earlier response, and goes the way of any other; what the provider keeps from then on is what was sent.
 */
export async function writtenOut({ request, context, view }: Measured): Promise<ReadRequest | undefined> {
  const { deps, branch, codec, gauge, limit } = context
  if (request.writeOut === undefined || !isChained(context.conversation.settings)) return undefined
  // Without a count of the provider's only the history itself tells how full it is.
  const isUnmeasured = branch.log.measured === undefined
  if (!isUnmeasured && !isOver(view.load, limit)) return undefined
  const text = await request.writeOut()
  if (text === undefined) return undefined
  const conversation = deps.memo.bodies.decode(branch.tenant, codec, text)
  if (isUnmeasured && !isOver(deps.meter.measure(gauge, conversation, Buffer.byteLength(text)), limit)) return undefined
  const links = linksOf(deps, conversation)
  // A hidden step would continue a request that the client never made.
  const tools = request.tools && { ...request.tools, withheld: true }
  return { ...request, text, conversation, links, tools, writeOut: undefined }
}

/** Above a threshold: an epoch, from a summary that is ready or from a new plan; where there is none, the new items alone give way. */
export async function reduce(measured: Measured): Promise<Reduced> {
  const { context, standing, view: before, edits, moved, found } = measured
  const decided = { standing: moved === undefined ? found : withoutEpoch(found), edits }
  const journal = journalOf(context, decided)
  // What is folded here would not be folded there, and a call's only output has to arrive: at most it is shown shorter.
  const { declared, smallest } = isChained(context.conversation.settings) ? {} : await epochFor(measured, journal)
  if (declared !== undefined)
    return { ...measured, before, view: declared.view, epoch: declared.epoch, smallest, journal }
  const squeezed = isOver(before.load, context.limit)
    ? await squeezeNew(withRoomToClose(context), standing, before, edits)
    : undefined
  if (moved !== undefined) await keepMoved(context, moved, squeezed?.view ?? before)
  if (squeezed === undefined) return { ...measured, before, epoch: undefined, smallest, journal }
  const shorter = journalOf(context, { ...decided, edits: squeezed.edits })
  return { ...measured, before, epoch: undefined, smallest, ...squeezed, journal: shorter }
}

async function epochFor(
  { context, standing, view, isOutputLowered }: Measured,
  { write }: Journal,
): Promise<{ readonly declared?: DeclaredEpoch; readonly smallest?: View }> {
  const { wish, background } = context.branch
  const mayTake = wish.request === undefined && background.summary !== undefined
  const ready = mayTake ? await takeSummary(context, standing, view, write) : undefined
  if (ready !== undefined) return { declared: ready }
  const leaving = withClosingLine(context, standing, view)
  if (isOutputLowered || !needsEpoch(context, standing, leaving)) return {}
  return makeEpoch(context, standing, leaving, write)
}

const withoutEpoch = ({ epochs, firstSend }: Standing): Standing => ({ epoch: undefined, epochs, firstSend })

/** An epoch that was moved, and stands: from here on it is found by what the client sends now. */
async function keepMoved({ deps, branch }: PrepareContext, moved: Epoch, { load }: View): Promise<void> {
  const { epoch } = await deps.sessions.claimEpoch(branch.tenant, branch.session, { ...moved, after: load.count.high })
  branch.standing.take(epoch)
}

import { isChained } from '../../../core/count.ts'
import type { Epoch } from '../../../core/records.ts'
import { takeSummary } from '../../epoch/background-summary.ts'
import type { DeclaredEpoch } from '../../epoch/announce-epoch.ts'
import { makeEpoch } from '../../epoch/make-epoch.ts'
import { needsEpoch } from '../../epoch/needs-epoch.ts'
import { journalOf, type Journal } from '../../session/journal.ts'
import { squeezeNew } from '../../tool-results/squeeze-new.ts'
import type { PrepareContext, View } from '../context.ts'
import { withClosingLine, withRoomToClose } from '../final-turn.ts'
import { isOver } from '../limits.ts'
import type { Standing } from '../standing.ts'
import type { Measured } from './measure.ts'

/** A request as small as it gets. */
export interface Reduced extends Measured {
  /** The view before. */
  readonly before: View
  /** The epoch that this request declared. */
  readonly epoch: Epoch | undefined
  /** Where no epoch makes the request fit, the smallest view that was found. */
  readonly smallest: View | undefined
  /** What the log needs about it. */
  readonly journal: Journal
}

/** Above a threshold: an epoch, from a summary that is ready or from a new plan; where there is none, the new items alone give way. */
export async function reduce(measured: Measured): Promise<Reduced> {
  const { request, context, standing, view: before, edits, moved, found, isOutputLowered } = measured
  const decided = { standing: moved === undefined ? found : withoutEpoch(found), edits }
  const journal = journalOf(context, decided)
  // What is folded here would not be folded there, and a call's only output has to arrive: at most it is shown shorter.
  const { declared, smallest } = isChained(context.conversation.settings) ? {} : await epochFor(measured, journal)
  if (declared !== undefined)
    return { ...measured, before, view: declared.view, epoch: declared.epoch, smallest, journal }
  const squeezed = isOver(before.load, context.limit)
    ? await squeezeNew(withRoomToClose(context), standing, before, edits)
    : undefined
  const view = squeezed?.view ?? before
  if (moved !== undefined) await keepMoved(context, moved, view)
  if (squeezed !== undefined) {
    const shorter = journalOf(context, { ...decided, edits: squeezed.edits })
    return { ...measured, before, epoch: undefined, smallest, ...squeezed, journal: shorter }
  }
  return {
    request,
    context,
    moved,
    found,
    standing,
    edits,
    isOutputLowered,
    before,
    view,
    epoch: undefined,
    smallest,
    journal,
  }
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

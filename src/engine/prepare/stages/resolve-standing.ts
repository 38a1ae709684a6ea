import { epochEditsOf, planOfEpoch } from '../../../core/epochs.ts'
import { withPairedDrops } from '../../../core/turns.ts'
import type { Epoch } from '../../../core/records.ts'
import { coverage } from '../../epoch/cascade/plan-epoch.ts'
import type { PrepareContext } from '../context.ts'
import { wasSent } from '../../session/branch/branch.ts'
import { findStanding, reanchor, type Standing } from '../standing.ts'
import type { Opened } from './open.ts'

/** A request with the edits that stand for it. */
export interface Resolved extends Opened {
  readonly standing: Standing
  /** The epoch, where it had to be moved to fit what the client sends now. Not recorded yet: a request that declares its own does not need it. */
  readonly moved: Epoch | undefined
}

/** Finds the standing edits; where the client rewrote what our epoch covers, moves the epoch or lets it go, never silently. */
export async function resolveStanding(opened: Opened): Promise<Resolved> {
  const { request, context } = opened
  const { standing, moved } = anchored(context, await findStanding(context))
  return { request, context, standing, moved }
}

function anchored(
  context: PrepareContext,
  standing: Standing,
): { readonly standing: Standing; readonly moved?: Epoch } {
  const { deps, branch, links, emit } = context
  const { items } = context.conversation
  const known = branch.standing.epoch
  if (standing.epoch !== undefined) branch.standing.take(standing.epoch)
  if (known === undefined || standing.epoch?.id === known.id) return { standing }
  // Another epoch of ours stands here, or a rewind went back to something sent before: what was sent then is sent again.
  const end = links.at(-1)?.chain ?? ''
  if (standing.epoch !== undefined || wasSent(branch, end) || branch.log.handedOut.has(end)) return { standing }
  const { anchors, matched } = reanchor(known, links)
  if (anchors === undefined) {
    emit({ type: 'epoch-orphaned', epoch: known.id, matched })
    branch.standing.orphan()
    return { standing }
  }
  const plan = withPairedDrops(planOfEpoch(known, items, links, anchors), items)
  const edits = epochEditsOf(plan, items, links)
  const covered = links.slice(0, Math.max(1, coverage(edits)))
  const { chain: cover } = covered.at(-1)!
  const moved: Epoch = {
    ...known,
    at: deps.clock.now(),
    id: `ep_${deps.hash(`${cover}:${known.id}`).slice(0, 16)}`,
    cover,
    count: covered.length,
    cut: covered.length,
    declaredAt: { count: links.length, chain: end },
    identities: covered.map((link) => link.identity),
    edits,
    reason: `${known.id} re-applied: the client changed a part of what it covers`,
  }
  emit({ type: 'epoch-reanchored', epoch: moved.id, matched })
  return { standing: { ...standing, epoch: moved }, moved }
}

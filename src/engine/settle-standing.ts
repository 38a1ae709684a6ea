import { epochEditsOf, exactAnchors, planOfEpoch } from '../core/epochs.ts'
import { withPairedDrops } from '../core/paired-drops.ts'
import type { Epoch } from '../core/records.ts'
import { coverage } from './cascade/plan-epoch.ts'
import type { PrepareContext } from './context.ts'
import { findStanding, reanchor, type Standing } from './standing.ts'

/** Finds the standing edits; where the client rewrote what our epoch covers, moves the epoch or lets it go, never silently. */
export async function settleStanding(context: PrepareContext): Promise<Standing> {
  const { deps, branch, links, emit } = context
  const { items } = context.conversation
  const standing = await findStanding(deps.sessions, branch.tenant, branch.session, items, links)
  const known = branch.epoch
  if (standing.epoch !== undefined) branch.epoch = standing.epoch
  if (known === undefined || standing.epoch?.id === known.id) return standing
  // Another epoch of ours stands here, or a rewind went back to something sent before: what was sent then is sent again.
  if (standing.epoch !== undefined || branch.sent.has(links.at(-1)?.chain ?? '')) return standing
  const moved = reanchor(known, links)
  if (moved.anchors === undefined) {
    emit({ type: 'epoch-orphaned', epoch: known.id, matched: moved.matched })
    delete branch.epoch
    return standing
  }
  const plan = withPairedDrops(planOfEpoch(known, items, links, moved.anchors), items)
  const edits = epochEditsOf(plan, items, links)
  const { chain } = links.at(-1)!
  const epoch: Epoch = {
    ...known,
    at: deps.clock.now(),
    id: `ep_${deps.hash(`${chain}:${known.id}`).slice(0, 16)}`,
    cover: chain,
    count: links.length,
    cut: coverage(edits),
    identities: links.map((link) => link.identity),
    edits,
    reason: `${known.id} moved: the client changed some of what it covers`,
  }
  const { epoch: winner } = await deps.sessions.claimEpoch(branch.tenant, branch.session, epoch)
  emit({ type: 'epoch-reanchored', epoch: winner.id, matched: moved.matched })
  branch.epoch = winner
  return { ...standing, epoch: winner, anchors: exactAnchors(winner) }
}

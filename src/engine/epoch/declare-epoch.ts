import { declaredCount } from '../../core/epochs.ts'
import { RECORD_VERSION, type Epoch } from '../../core/records.ts'
import { storeTexts } from '../session/log.ts'
import { workingRoom, type Draft, type Proposal, type StoredText } from './cascade/draft.ts'
import { coverage, planEpoch } from './cascade/plan-epoch.ts'
import type { PrepareContext, View, Standing } from '../prepare/context.ts'
import { isCertainlyOver, isOver } from '../prepare/counting.ts'
import { viewOf } from '../prepare/view.ts'
import type { CompactRequest } from '../session/branch.ts'
import { countItems, draftOf } from './draft-of.ts'
import { epochsInARow, MOST_IN_A_ROW } from './needs-epoch.ts'
import { summaryWriter, type SummaryWriter } from './summary/summary-writer.ts'
import { recallUnder } from './record/record-recall.ts'
import { nextRound, yieldNow } from '../../util/yield-now.ts'

/** Each pass aims lower than the one before; more than these would not help what three did not. */
const PASSES = 3
const AIM_STEP = 0.2

/** A person who asks for a reduction below low water means less than there is: this share of it. */
const ASKED_SHARE = 0.5

/** What the last epoch in a row leaves free, of the room to work in. */
const FREE_SHARE = 0.2

/** Plans a reduction and makes it an epoch; without one, why there is nothing to gain. */
export async function declareEpoch(
  context: PrepareContext,
  standing: Standing,
  cause: Cause,
): Promise<Epoch | NoEpoch> {
  const { passes = PASSES } = context.deps.policy
  const since = context.links.length - (standing.epoch === undefined ? 0 : declaredCount(standing.epoch))
  if (cause.requested !== undefined && !cause.forced && since === 0 && cause.requested.instructions === undefined)
    return { nothing: 'nothing is new since the last compaction' }
  const draft = roomy(context, standing, aimed(draftOf(context, standing, cause.preserve), cause))
  await countItems(draft, yieldNow())
  const write = summaryWriter(context, { modelFree: cause.modelFree, before: cause.before })
  for (let pass = 1; pass <= passes; pass++) {
    const aim = Math.max(AIM_STEP, 1 - (pass - 1) * AIM_STEP)
    const deeper = { ...draft, lowTokens: draft.lowTokens * aim }
    const made = await tryPass(context, standing, cause, deeper, { write, pass, isLast: pass === passes })
    if (made !== undefined) return made
  }
  return { nothing: 'no compaction made the request fit' }
}

interface Pass {
  readonly write: SummaryWriter
  readonly pass: number
  readonly isLast: boolean
}

/** One plan and what becomes of it; undefined where a deeper one is worth trying. */
async function tryPass(
  context: PrepareContext,
  standing: Standing,
  cause: Cause,
  draft: Draft,
  { write, pass, isLast }: Pass,
): Promise<Epoch | NoEpoch | undefined> {
  const { deps, branch, limit } = context
  await nextRound()
  const plan = await planEpoch(draft, deps.policy)
  if (plan.edits.length === 0) {
    // A provider that counts more than we do: by our count the aim is met, and the request does not fit.
    if (cause.forced && !isLast) return undefined
    return { nothing: 'everything left must be kept, or is too small to be worth removing' }
  }
  const viewOfPlan = (candidate: Proposal): View =>
    viewUnder(context, standing, epochOf(context, standing, cause, candidate))
  // Weighed before a summarizer is asked: its call costs money too.
  if (pass === 1 && cause.accepts?.(viewOfPlan(plan)) === false) return { nothing: 'it would cost more than it saves' }
  const proposal = await write(plan, (candidate) => !isOver(viewOfPlan(candidate).load, limit))
  const planned = epochOf(context, standing, cause, proposal)
  await nextRound()
  // The plan adds up upper bounds of items; what counts is the view as the meter sees it, before anything is recorded.
  const view = viewUnder(context, standing, planned)
  const { load } = view
  if (isOver(load, limit) && !isLast) return undefined
  // What will not be sent is not declared: a later request with more room would stand under it for nothing.
  const mayClose = deps.policy.cascade.some(({ step }) => step === 'final')
  if (isCertainlyOver(view.estimate, limit) && !mayClose) return { nothing: 'no compaction made the request fit', view }
  // What a provider has counted is surer than what we wrote: a smaller request may have the higher bound.
  const isSmaller =
    load.count.high < cause.loadBefore || (cause.forced && load.count.tokens < (cause.before?.load.count.tokens ?? 0))
  if (cause.bytesBefore > limit.bytes ? load.bytes >= cause.bytesBefore : !isSmaller)
    return { nothing: 'the compacted request would not be smaller' }
  await storeTexts(deps, branch, ownTexts(context, proposal))
  await nextRound()
  const recall = recallUnder(context, planned, view)
  const won = await claim(context, standing, cause, { ...planned, after: load.count.high, recall })
  return won.id === standing.epoch?.id ? { nothing: 'it is in force already' } : won
}

async function claim(context: PrepareContext, standing: Standing, cause: Cause, epoch: Epoch): Promise<Epoch> {
  const { deps, branch } = context
  // Together, so that a store can make them durable with one flush.
  const [{ epoch: won }] = await Promise.all([
    deps.sessions.claimEpoch(branch.tenant, branch.session, epoch),
    cause.alongside?.(),
  ])
  // The first to compact this history had more room than we have.
  if (won.id === epoch.id || !isOver(viewUnder(context, standing, won).load, context.limit)) return won
  return (await deps.sessions.claimEpoch(branch.tenant, branch.session, { ...epoch, replaces: won.id })).epoch
}

/** The last epoch in a row leaves room for what the next request brings, which will have to do without one. */
function roomy(context: PrepareContext, { epoch }: Standing, draft: Draft): Draft {
  if (epochsInARow(context, epoch) < MOST_IN_A_ROW - 1) return draft
  return { ...draft, limitTokens: draft.limitTokens - FREE_SHARE * workingRoom(draft) }
}

function aimed(draft: Draft, { requested, loadBefore, before }: Cause): Draft {
  if (requested === undefined) return draft
  const { instructions } = requested
  const load = draft.likely === undefined ? loadBefore : (before?.load.count.tokens ?? loadBefore)
  return {
    ...draft,
    lowTokens: load <= draft.lowTokens ? load * ASKED_SHARE : draft.lowTokens,
    instructions,
  }
}

/** Why there is no epoch, and the smallest view that was found where none fits. */
export interface NoEpoch {
  readonly nothing: string
  readonly view?: View
}

export interface Cause {
  readonly forced: boolean
  readonly loadBefore: number
  readonly bytesBefore: number
  /** The view as it was, where its prefix may serve for a summary in band. */
  readonly before?: View
  /** No model is asked. @default false */
  readonly modelFree?: boolean
  /** A person asked for it, and perhaps said what the summary should hold. */
  readonly requested?: CompactRequest
  /** Identities that stay in view like pins, this time. */
  readonly preserve?: ReadonlySet<string>
  /** Whether an epoch that nothing forces is worth its price, by the view that it would give. */
  readonly accepts?: (planned: View) => boolean
  /** What the log needs about the request anyway, written with the epoch. */
  readonly alongside?: () => Promise<void>
}

/** The view if this epoch stood. */
export const viewUnder = (context: PrepareContext, standing: Standing, epoch: Epoch): View =>
  viewOf(context, { ...standing, epoch })

/** The epoch that these edits make of the first `count` links of the chain. */
export function epochOf(
  context: PrepareContext,
  standing: Standing,
  cause: Cause,
  { edits }: Proposal,
  count = context.links.length,
): Epoch {
  const { deps, branch } = context
  const history = context.links.slice(0, count)
  const links = history.slice(0, Math.max(1, coverage(edits)))
  const { chain: cover } = links.at(-1)!
  const { chain } = history.at(-1)!
  return {
    v: RECORD_VERSION,
    at: deps.clock.now(),
    agent: branch.agent,
    type: 'epoch',
    id: `ep_${deps.hash(`${chain}:${deps.policy.name}:${standing.epoch?.id ?? ''}:${branch.log.undone.size}`).slice(0, 16)}`,
    cover,
    count: links.length,
    cut: links.length,
    declaredAt: { count: history.length, chain },
    identities: links.map((link) => link.identity),
    edits,
    forced: cause.forced,
    reason: cause.forced
      ? 'the load is above the limit'
      : cause.requested === undefined
        ? 'the load is above the threshold'
        : 'it was asked for',
    policy: deps.policy.name,
    before: cause.loadBefore,
    after: 0,
    limit: context.limit.tokens,
    // The same history again: for a fallback model, for a window that the provider named, or because more has come behind it.
    replaces: standing.epoch?.cover === cover ? standing.epoch.id : undefined,
    inARow: epochsInARow(context, standing.epoch) + 1,
  }
}

/** Texts that their handles really open; what was made from an artifact is not stored beside it. */
export const ownTexts = ({ deps, branch }: PrepareContext, { stored }: Proposal): StoredText[] =>
  [...stored]
    .filter(([handle, { text, content }]) => deps.addressOf(branch.tenant, content ?? Buffer.from(text)) === handle)
    .map(([, text]) => text)

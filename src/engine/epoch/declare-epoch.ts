import type { EpochPrice } from '../../core/events.ts'
import { declaredCount } from '../../core/epochs.ts'
import type { Policy } from '../../core/policy.ts'
import { RECORD_VERSION, type Epoch } from '../../core/records.ts'
import { turnsOf } from '../../core/turns.ts'
import { nextRound, yieldNow } from '../../util/yield-now.ts'
import { callHook, PRESERVE_SHARE, type BeforeEpochInfo, type HookPlace } from '../hooks.ts'
import type { PrepareContext, View, Standing } from '../prepare/context.ts'
import { isTooDeep } from '../prepare/standing.ts'
import { isCertainlyOver, isOver, tokensOf } from '../prepare/counting.ts'
import { viewOf } from '../prepare/view.ts'
import { designOf, type Reduction } from '../presets/design.ts'
import type { CompactRequest } from '../session/branch-log.ts'
import { appendTo, storeTexts } from '../session/log.ts'
import { workingRoom, type Draft, type Proposal, type StoredText } from './cascade/draft.ts'
import { coverage, planEpoch } from './cascade/plan-epoch.ts'
import { countItems, draftOf } from './draft-of.ts'
import { epochsInARow, isOverheadHigh, MOST_IN_A_ROW } from './needs-epoch.ts'
import { priceGate, type PriceGate } from './price-gate.ts'
import { keptUnder } from './record/record-recall.ts'
import { summaryWriter, type SummaryWriter } from './summary/summary-writer.ts'

/** Each pass aims lower than the one before; more than these would not help what three did not. */
const PASSES = 3
const AIM_STEP = 0.2

/** A person who asks for a reduction below low water means less than there is: this share of it. */
const ASKED_SHARE = 0.5

/** What the last epoch in a row leaves free, of the room to work in. */
const FREE_SHARE = 0.2

/** Why a request is reduced, and what is wanted of it. */
export interface Cause {
  /** It does not fit. */
  readonly forced: boolean
  /** The view as it was. */
  readonly before: View
  /** A person asked for it, and perhaps said what the summary should hold. */
  readonly requested?: CompactRequest
  /** Whether an epoch that nothing forces is worth its price. */
  readonly gate?: PriceGate
  /** Links that were there when it was planned; what came since stays behind it. @default all of the request */
  readonly count?: number
  /** What the log needs about the request anyway, written with the epoch. */
  readonly log: () => Promise<void>
}

/** Why there is no epoch, and the smallest view that was found where none fits. */
interface NoEpoch {
  readonly nothing: string
  readonly view?: View
}

export interface MadeEpoch {
  readonly declared?: { readonly epoch: Epoch; readonly view: View }
  /** Where none makes the request fit, the smallest view that was found. */
  readonly smallest?: View
}

/** Makes an epoch: it is planned, recorded, and told of. */
export async function makeEpoch(
  context: PrepareContext,
  standing: Standing,
  before: View,
  log: () => Promise<void>,
): Promise<MadeEpoch> {
  const { deps, branch, limit } = context
  const { wish: requested } = branch.log
  const forced = isOver(before.load, limit)
  const why = forced ? 'overflow' : requested !== undefined ? 'requested' : 'high-water'
  const preserve = await askBeforeEpoch(context, before, why)
  if (preserve === undefined) return {}
  const gate = forced || requested !== undefined ? undefined : priceGate(context, before)
  const cause = { forced, before, requested, gate, log }
  const epoch = await declareEpoch(context, standing, cause, preserve)
  branch.log.answer('nothing' in epoch ? epoch.nothing : undefined)
  if ('nothing' in epoch) {
    if (!forced) branch.requests.refused(before.load.count.tokens)
    // Nothing came of what the log asks for: no other process tries it again.
    const asked = { v: RECORD_VERSION, at: deps.clock.now(), agent: branch.agent, type: 'compaction-asked' } as const
    if (requested?.isLogged === true) await appendTo(deps, branch, [{ ...asked, refusal: epoch.nothing }])
    return { smallest: epoch.view }
  }
  return takeEffect(context, standing, cause, epoch, why)
}

/** An epoch that was recorded stands for the request, and is told of. */
export async function takeEffect(
  context: PrepareContext,
  standing: Standing,
  { before, gate }: Cause,
  epoch: Epoch,
  why: BeforeEpochInfo['cause'],
): Promise<MadeEpoch> {
  await nextRound()
  const view = viewUnder(context, standing, epoch)
  context.branch.log.stand(epoch)
  await announceEpoch(context, { before, after: view, epoch }, why, gate?.quote())
  return { declared: { epoch, view } }
}

/** Plans a reduction and makes it an epoch; without one, why there is nothing to gain. */
async function declareEpoch(
  context: PrepareContext,
  standing: Standing,
  cause: Cause,
  preserve: ReadonlySet<string>,
): Promise<Epoch | NoEpoch> {
  const { passes = PASSES } = context.deps.policy
  const { background } = context.branch
  const { requested, forced, before } = cause
  const since = context.links.length - (standing.epoch === undefined ? 0 : declaredCount(standing.epoch))
  if (requested !== undefined && !forced && since === 0 && requested.instructions === undefined)
    return { nothing: 'nothing is new since the last compaction' }
  const draft: Draft = {
    ...roomy(context, standing, aimed(draftOf(context, standing, preserve), cause)),
    sparesWords: !isOver(before.estimate, context.limit),
  }
  await countItems(draft, yieldNow())
  // A request that has to fit now does not wait for a summary that another one has started.
  const isInARow = epochsInARow(context, standing.epoch) >= MOST_IN_A_ROW
  const write = summaryWriter(context, before, background.isWriting || isOverheadHigh(context) || isInARow)
  background.drop()
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
  const { deps, limit } = context
  await nextRound()
  const plan = await planEpoch(draft, deps.policy)
  if (plan.edits.length === 0) {
    // A provider that counts more than we do: by our count the aim is met, and the request does not fit.
    if (cause.forced && !isLast) return undefined
    return { nothing: 'everything left must be kept, or is too small to be worth removing' }
  }
  const viewOf = (candidate: Proposal): View => viewOfPlan(context, standing, cause, candidate)
  // Weighed before a summarizer is asked: its call costs money too.
  if (pass === 1 && cause.gate?.accepts(viewOf(plan)) === false) return { nothing: 'it would cost more than it saves' }
  const proposal = await write(plan, (candidate) => !isOver(viewOf(candidate).load, limit))
  return recordPlan(context, standing, cause, proposal, isLast)
}

/** The view if this plan were an epoch. */
export const viewOfPlan = (context: PrepareContext, standing: Standing, cause: Cause, plan: Proposal): View =>
  viewUnder(context, standing, epochOf(context, standing, cause, plan))

/** Makes a plan an epoch if the request fits under it and gets smaller; undefined where a deeper one is worth trying. */
export async function recordPlan(
  context: PrepareContext,
  standing: Standing,
  cause: Cause,
  proposal: Proposal,
  isLast: boolean,
): Promise<Epoch | NoEpoch | undefined> {
  const { deps, branch, limit } = context
  const planned = epochOf(context, standing, cause, proposal)
  await nextRound()
  // The plan adds up upper bounds of items; what counts is the view as the meter sees it, before anything is recorded.
  const view = viewUnder(context, standing, planned)
  const { load } = view
  if (isOver(load, limit) && !isLast) return undefined
  // What will not be sent is not declared: a later request with more room would stand under it for nothing.
  if (isCertainlyOver(view.estimate, limit) && !mayClose(deps.policy))
    return { nothing: 'no compaction made the request fit', view }
  // What a provider has counted is surer than what we wrote: a smaller request may have the higher bound.
  const { count, bytes } = cause.before.load
  const isSmaller = load.count.high < count.high || (cause.forced && load.count.tokens < count.tokens)
  if (bytes > limit.bytes ? load.bytes >= bytes : !isSmaller)
    return { nothing: 'the compacted request would not be smaller' }
  await storeTexts(deps, branch, ownTexts(context, proposal))
  await nextRound()
  const kept = keptUnder(context, planned, view)
  const won = await claim(context, standing, cause, { ...planned, after: load.count.high, ...kept })
  return won.id === standing.epoch?.id ? { nothing: 'it is in force already' } : won
}

async function claim(context: PrepareContext, standing: Standing, cause: Cause, epoch: Epoch): Promise<Epoch> {
  const { deps, branch } = context
  // Together, so that a store can make them durable with one flush.
  const [{ epoch: won }] = await Promise.all([
    deps.sessions.claimEpoch(branch.tenant, branch.session, epoch),
    cause.log(),
  ])
  // The first to compact this history had more room than we have, or much less.
  const isOurs = !isTooDeep(context.limit, won) && !isOver(viewUnder(context, standing, won).load, context.limit)
  if (won.id === epoch.id || isOurs) return won
  return (await deps.sessions.claimEpoch(branch.tenant, branch.session, { ...epoch, replaces: won.id })).epoch
}

/** The last epoch in a row leaves room for what the next request brings, which will have to do without one. */
function roomy(context: PrepareContext, { epoch }: Standing, draft: Draft): Draft {
  if (epochsInARow(context, epoch) < MOST_IN_A_ROW - 1) return draft
  return { ...draft, limitTokens: draft.limitTokens - FREE_SHARE * workingRoom(draft) }
}

function aimed(draft: Draft, { requested, before }: Cause): Draft {
  if (requested === undefined) return draft
  const { instructions } = requested
  const { high, tokens } = before.load.count
  const load = draft.likely === undefined ? high : tokens
  return {
    ...draft,
    lowTokens: load <= draft.lowTokens ? load * ASKED_SHARE : draft.lowTokens,
    instructions,
  }
}

const mayClose = ({ cascade }: Policy): boolean => cascade.some(({ step }) => step === 'final')

/** The view if this epoch stood. */
const viewUnder = (context: PrepareContext, standing: Standing, epoch: Epoch): View =>
  viewOf(context, { ...standing, epoch })

/** The epoch that these edits make of the history. */
function epochOf(context: PrepareContext, standing: Standing, cause: Cause, { edits }: Proposal): Epoch {
  const { deps, branch } = context
  const history = context.links.slice(0, cause.count)
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
    // A policy that closes its sessions goes by this: what only the margin of an unknown model forced closes none.
    forced: cause.forced && (!mayClose(deps.policy) || isOver(cause.before.estimate, context.limit)),
    reason: cause.forced
      ? 'the load is above the limit'
      : cause.requested === undefined
        ? 'the load is above the threshold'
        : 'it was asked for',
    policy: deps.policy.name,
    before: cause.before.load.count.high,
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

export const placeOf = ({ branch: { tenant, session, agent } }: Pick<PrepareContext, 'branch'>): HookPlace => ({
  tenant,
  session,
  agent,
})

/** What a `beforeEpoch` hook wants to keep, as far as the promises allow; undefined: the epoch waits. */
export async function askBeforeEpoch(
  context: PrepareContext,
  { load }: View,
  cause: BeforeEpochInfo['cause'],
): Promise<ReadonlySet<string> | undefined> {
  const { deps, links, conversation, limit, target, emit } = context
  const preserve = new Set<string>()
  if (deps.hooks?.beforeEpoch === undefined) return preserve
  const count = tokensOf(context)
  const items = links.map(({ identity, index }) => {
    const item = conversation.items[index]!
    return { identity, kind: item.kind, tokens: Math.ceil(count(item)) }
  })
  const { count: total, bytes } = load
  const info = { ...placeOf(context), model: target.model, cause, load: total.high, limit: limit.tokens, bytes, items }
  const answer = await callHook(deps.hooks, 'beforeEpoch', info, emit)
  if (answer?.defer === true && (cause === 'high-water' || cause === 'background')) return undefined
  // Wishes in their order, while they fit into their share.
  const sizes = new Map(items.map(({ identity, tokens }) => [identity, tokens]))
  const wanted = new Set(answer?.preserve)
  let left = PRESERVE_SHARE * limit.tokens
  for (const identity of wanted) {
    const tokens = sizes.get(identity) ?? Infinity
    if (tokens > left) continue
    preserve.add(identity)
    left -= tokens
  }
  const refused = wanted.size - preserve.size
  const message = `beforeEpoch: ${refused} items are unknown or too large to preserve`
  if (refused > 0) emit({ type: 'warning', topic: 'hooks', message })
  return preserve
}

/** Events, hooks and log lines tell of an epoch that took effect. */
async function announceEpoch(
  context: PrepareContext,
  reduction: Reduction,
  cause: BeforeEpochInfo['cause'],
  price: EpochPrice | undefined,
): Promise<void> {
  const { deps, limit, target, emit, conversation } = context
  const { id, count: covered, forced, reason, recall, receipt } = reduction.epoch
  const [before, after] = [reduction.before.load.count.high, reduction.after.load.count.high]
  emit({ type: 'epoch-declared', epoch: id, forced, reason, before, after, covered, recall, receipt, price })
  // Calls that will not be answered any more: only those of the newest step can still be waited for.
  const { pending, steps } = turnsOf(conversation.items)
  const newest = steps.at(-1)?.from ?? 0
  for (const index of pending.filter((at) => at < newest)) {
    const { id: item, callId, toolName: tool } = conversation.items[index]!
    emit({ type: 'call-unanswered', item, callId, tool })
  }
  const about = { ...placeOf(context), model: target.model, epoch: id, cause, limit: limit.tokens, covered }
  await callHook(deps.hooks, 'afterEpoch', { ...about, before, after }, emit)
  designOf(deps.policy).log?.reduced?.(context, reduction).forEach(emit)
}

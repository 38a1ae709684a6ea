import { declaredCount } from '../../core/epochs.ts'
import type { Handle } from '../../core/handles.ts'
import type { Item } from '../../core/item.ts'
import { RECORD_VERSION, type Epoch } from '../../core/records.ts'
import { turnsOf } from '../../core/turns.ts'
import { referenceHandles, storeTexts } from '../session/archive.ts'
import { keptTokens, workingRoom, type Draft, type Proposal, type StoredText } from './cascade/draft.ts'
import { coverage } from './cascade/plan-epoch.ts'
import { bytesAfter, planWithinBytes } from './cascade/plan-within-bytes.ts'
import type { PrepareContext, View } from '../prepare/context.ts'
import { fixedCountOf, likelyCounts, textTokensOf, tokensOf } from '../prepare/counting.ts'
import { isCertainlyOver, isOver } from '../prepare/limits.ts'
import { viewOf } from '../prepare/view.ts'
import type { CompactRequest } from '../session/branch/compact-wish.ts'
import { epochsInARow, MOST_IN_A_ROW } from './breaker.ts'
import { SUMMARY_TIME_MS, summaryWriter } from './summary/summary-writer.ts'
import { summaryLease, type SummaryLease } from './summary/summary-lease.ts'
import type { PresentOptions } from '../deps.ts'
import { derivedFrom } from '../tool-results/derived.ts'
import { protectedItems } from './protected.ts'
import { recallUnder } from './recall-under.ts'
import type { Standing } from '../prepare/standing.ts'
import { lowWater, marginOf } from './thresholds.ts'

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
  const lease = summaryLease(context, context.deps.policy.timeMs ?? SUMMARY_TIME_MS, standing)
  try {
    return await planAndClaim(context, standing, cause, lease)
  } finally {
    await lease.release()
  }
}

async function planAndClaim(
  context: PrepareContext,
  standing: Standing,
  cause: Cause,
  lease: SummaryLease,
): Promise<Epoch | NoEpoch> {
  const { deps, branch, pause } = context
  const since = context.links.length - (standing.epoch === undefined ? 0 : declaredCount(standing.epoch))
  const isRepeated = since === 0 && cause.requested?.instructions === undefined
  if (cause.requested !== undefined && !cause.forced && isRepeated)
    return { nothing: 'nothing is new since the last compaction' }
  const draft = roomy(context, standing, aimed(draftOf(context, standing, cause.preserve), cause))
  const claim = async (epoch: Epoch): Promise<Epoch> => {
    // Together, so that a store can make them durable with one flush.
    const [{ epoch: won }] = await Promise.all([
      deps.sessions.claimEpoch(branch.tenant, branch.session, epoch),
      cause.alongside?.(),
    ])
    // Whoever was first on this history had more room than we have.
    if (won.id === epoch.id || !isOver(viewUnder(context, standing, won).load, context.limit)) return won
    return (await deps.sessions.claimEpoch(branch.tenant, branch.session, { ...epoch, replaces: won.id })).epoch
  }
  await countItems(draft, pause)
  const { passes = PASSES, cascade } = deps.policy
  const writer = summaryWriter(context, {
    modelFree: cause.modelFree === true,
    ...(cause.before !== undefined && { before: cause.before }),
  })
  for (let pass = 1; pass <= passes; pass++) {
    const aim = Math.max(AIM_STEP, 1 - (pass - 1) * AIM_STEP)
    await pause()
    const plan = await planWithinBytes({ ...draft, lowTokens: draft.lowTokens * aim }, cascade, pause)
    await pause()
    if (plan.edits.length === 0) {
      // A provider that counts more than we do: by our count the aim is met, and the request does not fit.
      if (cause.forced && pass < passes) continue
      return { nothing: 'everything left must be kept, or is too small to be worth removing' }
    }
    const viewOfPlan = (candidate: Proposal): View =>
      viewUnder(context, standing, epochOf(context, standing, cause, candidate))
    // Weighed before a summarizer is asked: its call costs money too.
    if (pass === 1 && cause.accepts?.(viewOfPlan(plan)) === false)
      return { nothing: 'it would cost more than it saves' }
    const fits = (candidate: Proposal): boolean => !isOver(viewOfPlan(candidate).load, context.limit)
    const right = writer.wouldAsk(plan) ? await lease.take() : 'busy'
    if (typeof right === 'object') {
      await referenceHandles(deps, branch, [right])
      return claim(right)
    }
    const proposal = right === 'ours' ? await writer.fulfil(plan, fits) : plan
    const planned = epochOf(context, standing, cause, proposal)
    await pause()
    // The plan adds up upper bounds of items; what counts is the view as the meter sees it, before anything is recorded.
    const view = viewUnder(context, standing, planned)
    const { load } = view
    if (isOver(load, context.limit) && pass < passes) continue
    // What will not be sent is not declared: a later request with more room would stand under it for nothing.
    const mayClose = cascade.some(({ step }) => step === 'final')
    if (isCertainlyOver(view.estimate, context.limit) && !mayClose)
      return { nothing: 'no compaction made the request fit', view }
    const isForBytes = cause.bytesBefore > context.limit.bytes
    // What a provider has counted is surer than what we wrote: a smaller request may have the higher bound.
    const isSmaller =
      load.count.high < cause.loadBefore || (cause.forced && load.count.tokens < (cause.before?.load.count.tokens ?? 0))
    if (isForBytes ? load.bytes >= cause.bytesBefore : !isSmaller)
      return { nothing: 'the compacted request would not be smaller' }
    await pause()
    await storeTexts(deps, branch, ownTexts(context, proposal))
    await pause()
    const won = await claim({ ...planned, after: load.count.high, recall: recallUnder(context, planned, view) })
    return won.id === standing.epoch?.id ? { nothing: 'it is in force already' } : won
  }
  return { nothing: 'no compaction made the request fit' }
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
    ...(load <= draft.lowTokens && { lowTokens: load * ASKED_SHARE }),
    ...(instructions !== undefined && { instructions }),
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
    ...(standing.epoch?.cover === cover && { replaces: standing.epoch.id }),
    inARow: epochsInARow(context, standing.epoch) + 1,
  }
}

export function draftOf(context: PrepareContext, standing: Standing, preserve: ReadonlySet<string> = new Set()): Draft {
  const { deps, branch, conversation, links, limit } = context
  const { design } = deps.meter
  // First-send edits stay: the draft sees those items as the model did.
  const items = conversation.items.map((item, index) => {
    const edit = standing.firstSend.get(index)
    // Whatever a plan writes, it writes from this: summaries, previews and what their handles open.
    if (edit === undefined) return deps.redact === undefined ? item : { ...item, text: deps.redact(item.text) }
    const { media: _, ...rest } = item
    return { ...rest, text: edit.text, edited: true as const }
  })
  const origins = originsOf(context, standing)
  const fixed = fixedCountOf(context)
  const likely = deps.policy.water.lowBy === 'tokens' ? likelyOf(context, fixed.tokens) : undefined
  const turns = turnsOf(items)
  const { keep, pinned, openFrom } = protectedItems(items, links, turns, new Set([...branch.log.pins, ...preserve]))
  const bound = {
    tokensOf: once(tokensOf(context)),
    countText: onceForShort(textTokensOf(context)),
    fixedTokens: fixed.high,
  }
  const counts = likely ?? bound
  return {
    items,
    links,
    turns,
    keep,
    pinned,
    openFrom,
    ...bound,
    limitTokens: limit.tokens,
    windowTokens: limit.window,
    ...(design?.estimate !== undefined && {
      estimate: (left: readonly Item[]) => design.estimate!({ ...conversation, items: left }, context.target.model),
    }),
    lowTokens: lowWater(deps.policy, limit, counts.fixedTokens, keptTokens({ items, keep, openFrom, ...counts })),
    ...(likely !== undefined && { likely }),
    marginTokens: marginOf(deps.policy, limit),
    mayStrip: context.codec.traits.mayStrip,
    bytes: bytesAfter(Buffer.byteLength(context.text), conversation.items, standing.firstSend),
    limitBytes: limit.bytes,
    handleOf: (content) =>
      typeof content === 'string'
        ? (origins(content)?.handle ?? deps.addressOf(branch.tenant, Buffer.from(content)))
        : deps.addressOf(branch.tenant, content),
    present: (text, options) => origins(text)?.present(options) ?? deps.present(text, options).text,
    presentLong: async (text, options) =>
      origins(text)?.present(options) ?? (await (deps.presentLong ?? deps.present)(text, options)).text,
    readers: context.epochReaders(),
    describeResult: deps.describeResult,
    hasModel: deps.summarizer !== undefined || context.send !== undefined,
    asksInBand: deps.policy.summaries?.via === 'in-band' && context.send !== undefined,
  }
}

function likelyOf(context: PrepareContext, fixedTokens: number): NonNullable<Draft['likely']> {
  const { tokensOf: ofItem, countText } = likelyCounts(context)
  return { tokensOf: once(ofItem), countText: onceForShort(countText), fixedTokens }
}

/** A plan asks for the size of every item many times over. */
function once<T>(count: (of: T) => number): (of: T) => number {
  const known = new Map<T, number>()
  return (of) => {
    const before = known.get(of)
    if (before !== undefined) return before
    const tokens = count(of)
    known.set(of, tokens)
    return tokens
  }
}

/** Items between two looks at the clock. */
const PAUSE_EVERY = 256

/** Counts what a plan will ask for, a part at a time: of a long history a single step would count all of it at once. */
export async function countItems(
  { items, tokensOf: count, countText, likely }: Draft,
  pause: PrepareContext['pause'],
): Promise<void> {
  for (const [index, item] of items.entries()) {
    count(item)
    likely?.tokensOf(item)
    if (item.kind === 'user') (likely?.countText ?? countText)(item.text.trim())
    if (index % PAUSE_EVERY === 0) await pause()
  }
}

/** Longer texts are mostly records that are being written, each of them once. */
const SHORT_CHARACTERS = 2_000

function onceForShort(count: (text: string) => number): (text: string) => number {
  const short = once(count)
  return (text) => (text.length <= SHORT_CHARACTERS ? short : count)(text)
}

/** What a text of the draft was made from, when it is a view or a reader's answer. */
interface TextOrigin {
  readonly handle: Handle
  present(options: PresentOptions): string
}

/** A view that is shortened once more points at the whole and is made from it where it is at hand; never a handle of a handle. */
function originsOf(context: PrepareContext, { firstSend }: Standing): (text: string) => TextOrigin | undefined {
  const { deps, branch, conversation } = context
  const known = new Map<string, TextOrigin | undefined>()
  for (const [index, { text, handle }] of firstSend) {
    const original = conversation.items[index]!.text
    const whole = (): string => deps.redact?.(original) ?? original
    const derived = derivedFrom(deps, branch, original)
    known.set(text, {
      handle,
      present: (options) =>
        derived?.shorten(options.budgetTokens, options.countTokens) ??
        deps.present(whole(), { ...options, handle }).text,
    })
  }
  return (text) => {
    if (!known.has(text)) {
      const derived = derivedFrom(deps, branch, text)
      known.set(
        text,
        derived && {
          handle: derived.handles[0]!,
          present: ({ budgetTokens, countTokens }) => derived.shorten(budgetTokens, countTokens),
        },
      )
    }
    return known.get(text)
  }
}

/** Texts that their handles really open; what was made from an artifact is not stored beside it. */
export const ownTexts = ({ deps, branch }: PrepareContext, { stored }: Proposal): StoredText[] =>
  [...stored]
    .filter(([handle, { text, content }]) => deps.addressOf(branch.tenant, content ?? Buffer.from(text)) === handle)
    .map(([, text]) => text)

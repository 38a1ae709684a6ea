import type { Conversation } from '../../core/conversation.ts'
import { sharedLinks } from '../../core/chain.ts'
import type { Thresholds } from '../../core/target.ts'
import { isChained, showsWholePrompt } from '../../core/count.ts'
import type { OpenTurn, Unwritten } from '../session/branch.ts'
import { expectedCache, lineOf } from './cache.ts'
import type { Permission, PrepareContext, Permitted, NewEdit, ReadyRequest } from './context.ts'
import { tellRefused } from '../spending/calls.ts'
import { toolUseOf } from '../tool-results/first-send.ts'
import { draftOf } from '../epoch/draft-of.ts'
import { tellFetchedAgain } from '../epoch/fetched-again.ts'
import { decidingCount, highWater, lowWater } from '../epoch/thresholds.ts'
import { designOf } from '../presets/design.ts'
import { suspectsIn } from './counting.ts'
import { leavingView } from './outgoing.ts'
import { startSummary } from '../epoch/background-summary.ts'
import { placeOf } from '../epoch/declare-epoch.ts'
import { callHook, type Hooks } from '../hooks.ts'
import { sentRecords, troubleRecord } from '../session/record.ts'

/** Writes what leaves and checks it; what was decided is durable before it is handed out. `source` is the text that the caller gave. */
export async function finalise(permitted: Permitted, source: string): Promise<ReadyRequest> {
  const { context, standing, view, edits, epoch, journal, isClosing, permission } = permitted
  const { deps, isReadAlong, isObserved } = context
  // What is new is known by not having been sent, so it is looked at before this request counts as sent.
  const again = tellFetchedAgain(context, standing.epoch)
  try {
    const leaving: Permission = { ...permission, view: leavingView(context, permission.view) }
    const { settings, changes } = leaving.view.conversation
    if (changes?.maxOutputTokens !== undefined)
      context.emit({ type: 'output-lowered', asked: settings.maxOutputTokens!, to: changes.maxOutputTokens })
    const isHalted = permission.verdict.kind === 'halt'
    // The client's own items may wait for the answer: it sends them again.
    const unwritten = isReadAlong === true && !isHalted ? journal.later() : undefined
    if (unwritten === undefined) {
      // A halted request never leaves; of one whose answer is read along, the answer will tell.
      const isSent = isReadAlong !== true && (!isHalted || isObserved === true)
      const sent = isSent ? sentRecords(context, epoch?.id ?? standing.epoch?.id, isClosing) : []
      const { reason } = permission.verdict
      await journal.writeWith(isHalted ? [...sent, troubleRecord(deps, context.branch, 'halted', reason)] : sent)
    }
    if (deps.hooks !== undefined) await tellHooks(context, deps.hooks, edits, leaving)
    if (epoch === undefined && !isClosing) await startSummary(context, standing, view)
    return finish({ ...permitted, permission: leaving, fetchedAgain: again }, unwritten, source)
  } catch (error) {
    // What never leaves is never billed.
    if (permission.reservation !== undefined) await deps.budgets?.release(permission.reservation)
    throw error
  }
}

async function tellHooks(
  context: PrepareContext,
  hooks: Hooks,
  edits: readonly NewEdit[],
  { verdict }: Permission,
): Promise<void> {
  const { conversation, emit } = context
  for (const { index, record, original } of edits) {
    const { toolName: tool, callId } = conversation.items[index]!
    const info = {
      ...placeOf(context),
      via: 'first-send' as const,
      tool,
      callId,
      text: record.text,
      truncated: true,
      originalBytes: Buffer.byteLength(original),
      handle: record.handle,
    }
    await callHook(hooks, 'afterToolResult', info, emit)
  }
  await callHook(hooks, 'onVerdict', { ...placeOf(context), verdict }, emit)
}

/** Opens the turn of the request and says what was done. `permission` has the view as it leaves. */
function finish(permitted: Permitted, unwritten: Unwritten | undefined, source: string): ReadyRequest {
  const { context, before, edits, epoch, standing, permission } = permitted
  const { deps, branch, codec, conversation, target, gauge, limit, emit } = context
  const { policy } = deps
  const { verdict, view } = permission
  const { load, plan, measurement } = view
  const { tokens, low, high } = load.count
  // What has to stay is looked at where it was: a long task raises what a compaction can aim at.
  const aim = epoch === undefined ? undefined : draftOf(context, standing).lowTokens
  const thresholds = {
    high: Math.round(highWater(policy, limit, branch.log.cacheIsWarm)),
    low: Math.round(aim ?? lowWater(policy, limit, measurement.parts.head + measurement.parts.tools)),
  }
  // There is nothing to record about what is never sent.
  const isStopped = verdict.kind === 'halt' && context.isObserved !== true
  const addsTools = (view.conversation.changes?.addTools ?? []).length > 0
  const original = plan.length === 0 && !addsTools ? undefined : deps.meter.measure(gauge, conversation, 0)
  const loadOriginal = original?.count.high ?? high
  // Both counted from the text alone, so that the errors of counting are alike.
  const notSent = original === undefined ? 0 : original.raw.tokens - measurement.raw.tokens
  const open = turnOf(permitted, thresholds, notSent, unwritten)
  const turn = branch.turns.open(open, branch.log.turns, !isStopped)
  remember(permitted)
  const { lowBy = 'high', warn } = policy.water
  const tight = high > limit.tokens || (aim !== undefined && load.count[lowBy] > aim)
  if (verdict.kind !== 'proceed') emit({ type: 'verdict-given', verdict })
  // The same count and the same whole as the policy's thresholds have.
  const deciding = load.count[decidingCount(policy)]
  const whole = designOf(policy).lowWater === undefined ? limit.tokens : limit.window
  if (deciding > warn * whole) emit({ type: 'context-warning', load: deciding, limit: whole })
  emit({
    type: 'request-prepared',
    turn,
    format: codec.format,
    model: target.model,
    load: high,
    original: loadOriginal,
    limit: limit.tokens,
    bytes: load.bytes,
    verdict: verdict.kind,
    edits: plan.length,
    tight,
  })
  if (isStopped) tellRefused(deps, branch, { by: 'plimsoll', model: target.model, turn, code: 'budget-exceeded' })
  const shortened = edits.map(({ index, record: { handle }, original }) => ({
    itemId: conversation.items[index]!.id,
    handle,
    originalBytes: Buffer.byteLength(original),
  }))
  return {
    id: turn,
    chosen: context.chosen,
    askedOutput: askedOutputOf(view.conversation),
    body: view.text,
    text: view.text,
    headers: view.headers,
    verdict,
    // A design's own number may lie outside the bounds of our meter, which decide what may leave; who reads the load gets one interval that holds both.
    load: { ...load, count: { ...load.count, low: Math.min(low, tokens), high: Math.max(high, tokens) } },
    limit,
    edits: plan,
    epoch: epoch?.id ?? standing.epoch?.id,
    declared: (view.conversation.changes?.addTools ?? []).map(({ name }) => name),
    report: {
      untouched: view.text === source,
      loadOriginal,
      loadBefore: before.load.count.high,
      loadAfter: high,
      newEpoch: epoch && { id: epoch.id, forced: epoch.forced, covered: epoch.count, receipt: epoch.receipt },
      shortened,
      tight,
      thresholds,
    },
  }
}

const askedOutputOf = ({ changes, settings }: Conversation): number | undefined =>
  changes?.maxOutputTokens === undefined ? undefined : settings.maxOutputTokens

/** What the next request is compared with. */
function remember({ context, epoch, standing, moved, permission }: Permitted): void {
  const { branch, conversation, links, target, limit, readers, known, emit } = context
  const { requests, log } = branch
  const { last } = requests
  if (epoch === undefined && last !== undefined) {
    // The client changed what it had sent. Another line of the same session, and the way back to one, is none of that.
    const shared = sharedLinks(last.links, links)
    const changed = shared === 0 || shared === last.links.length ? undefined : links[shared]
    if (changed !== undefined && !requests.has(changed.chain))
      emit({ type: 'prefix-broken', by: 'client', atItem: changed.index })
  }
  const { format, settings, changes, items } = conversation
  // Without the history: the last request is remembered as long as its session.
  const asked = {
    format,
    settings: { ...settings, maxOutputTokens: changes?.maxOutputTokens ?? settings.maxOutputTokens },
  }
  const { load } = permission.view
  requests.prepared(
    { items, links, model: target.model, load, limit, asked, readers },
    known.links,
    standing,
    // An epoch of this request is found by the next one, like any other.
    epoch === undefined && moved === undefined ? log.decisions : undefined,
    epoch !== undefined,
  )
  branch.toolUse = toolUseOf(context, standing)
}

/** What recording the answer needs to know of its request. */
function turnOf(
  { context, epoch, standing, isClosing, fetchedAgain: again, permission: { view, reservation } }: Permitted,
  thresholds: Thresholds,
  notSent: number,
  unwritten: Unwritten | undefined,
): Omit<OpenTurn, 'id'> {
  const { deps, branch, codec, target, limit, gauge, links } = context
  const { measurement, estimate, conversation } = view
  const { parts, byClass, raw, count } = measurement
  const chained = isChained(conversation.settings)
  const under = epoch?.id ?? standing.epoch?.id
  return {
    model: target.model,
    endpoint: target.endpoint,
    format: codec.format,
    limit,
    thresholds,
    estimated: raw.tokens,
    count: deps.meter.design === undefined ? estimate.count : count,
    measured: {
      chain: links.at(-1)?.chain ?? '',
      items: conversation.items.length,
      standing: parts.head + parts.tools,
      byClass,
      partial: showsWholePrompt(conversation) ? undefined : true,
      chained: chained || undefined,
      exact: gauge.estimated === true ? undefined : true,
    },
    refusesOverflow: target.refusesOverflow ?? (target.endpoint === undefined && limit.source === 'catalogue'),
    isChained: chained,
    isClosing,
    askedOutput: askedOutputOf(conversation),
    ...suspectsIn(context, view, epoch?.id ?? standing.epoch?.id),
    startedAt: deps.clock.now(),
    key: branch.key,
    reservation,
    epoch: under,
    fetchedAgain: again,
    cache: expectedCache(context, view, under),
    line: lineOf(links),
    notSent,
    isOwnStep: context.isOwnStep,
    unwritten,
  }
}

import { sharedLinks } from '../../core/chain.ts'
import type { Conversation } from '../../core/conversation.ts'
import type { MeasuredRequest } from '../../core/records.ts'
import type { Load, Thresholds } from '../../core/target.ts'
import { isChained, showsWholePrompt } from '../../core/count.ts'
import type { Writable } from '../../util/writable.ts'
import type { OpenTurn, Unwritten } from '../session/branch.ts'
import type { Permission, PrepareContext, View, Permitted, NewEdit, ReadyRequest } from './context.ts'
import { tellRefused } from '../spending/calls.ts'
import { toolUseOf } from '../tool-results/first-send.ts'
import { draftOf } from '../epoch/draft-of.ts'
import { highWater, lowWater } from '../epoch/thresholds.ts'
import { leavingView } from './outgoing.ts'
import { startSummary } from '../epoch/background-summary.ts'
import { placeOf } from '../epoch/announce-epoch.ts'
import { callHook, type Hooks } from '../hooks.ts'
import { sentRecords } from '../session/record.ts'

/** Writes what leaves and checks it; what was decided is durable before it is handed out. `source` is the text that the caller gave. */
export async function finalise(permitted: Permitted, source: string): Promise<ReadyRequest> {
  const { request, context, standing, view, edits, epoch, journal, isClosing, permission } = permitted
  const { deps } = context
  try {
    const leaving: Permission = { ...permission, view: leavingView(context, permission.view) }
    const isStopped = permission.verdict.kind === 'halt'
    // The client's own items may wait for the answer: it sends them again.
    const unwritten = request.isReadAlong === true && !isStopped ? journal.later() : undefined
    if (unwritten === undefined) {
      // A halted request never leaves; of one whose answer is read along, the answer will tell.
      const isSent = request.isReadAlong !== true && (!isStopped || request.isObserved === true)
      await journal.writeWith(isSent ? sentRecords(context, epoch?.id ?? standing.epoch?.id, isClosing) : [])
    }
    if (deps.hooks !== undefined) await tellHooks(context, deps.hooks, edits, leaving)
    if (epoch === undefined && !isClosing && deps.summarizer !== undefined) await startSummary(context, standing, view)
    return finish(permitted, leaving, unwritten, source)
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

/** Remembers the request on its branch, opens its turn, and says what was done. `permission` has the view as it leaves. */
function finish(
  permitted: Permitted,
  permission: Permission,
  unwritten: Unwritten | undefined,
  source: string,
): ReadyRequest {
  const { request, context, before, edits, epoch, standing, moved } = permitted
  const { deps, branch, conversation, links, target, gauge, limit, emit } = context
  const { view, verdict } = permission
  const epochId = epoch?.id ?? standing.epoch?.id
  const { high } = view.load.count
  // What has to stay is looked at where it was: a long task raises what a compaction can aim at.
  const aim = epoch === undefined ? undefined : draftOf(context, standing).lowTokens
  const thresholds = thresholdsOf(context, view, aim)
  const isStopped = verdict.kind === 'halt' && request.isObserved !== true
  const id = branch.turns.newId(branch.log.turns)
  // There is nothing to record about what is never sent.
  if (!isStopped) branch.turns.open(turnOf(permitted, permission, { id, epoch: epochId, unwritten, thresholds }))
  const { items } = conversation
  const { epochs, firstSend } = standing
  if (epoch === undefined) tellBrokenPrefix(permitted)
  branch.requests.prepared(
    {
      items,
      links,
      model: target.model,
      load: view.load,
      limit,
      asked: askedOf(conversation),
      readers: context.readers,
    },
    {
      known: context.known.links,
      // An epoch of this request is found by the next one, like any other.
      trail:
        epoch === undefined && moved === undefined
          ? { items, links, epochs, firstSend, decisions: branch.log.decisions }
          : undefined,
      isReduced: epoch !== undefined,
    },
  )
  branch.toolUse.is(toolUseOf(context, standing))
  const { lowBy = 'high' } = deps.policy.water
  const tight = high > limit.tokens || (aim !== undefined && view.load.count[lowBy] > aim)
  if (verdict.kind !== 'proceed') emit({ type: 'verdict-given', verdict })
  if (high > deps.policy.water.warn * limit.tokens) emit({ type: 'context-warning', load: high, limit: limit.tokens })
  const loadOriginal = view.plan.length === 0 ? high : deps.meter.measure(gauge, conversation, 0).count.high
  emit({
    type: 'request-prepared',
    turn: id,
    format: context.codec.format,
    model: target.model,
    load: high,
    original: loadOriginal,
    limit: limit.tokens,
    bytes: view.load.bytes,
    verdict: verdict.kind,
    edits: view.plan.length,
    tight,
  })
  if (isStopped) tellRefused(deps, branch, { by: 'plimsoll', model: target.model, turn: id, code: 'budget-exceeded' })
  return {
    id,
    chosen: context.chosen,
    body: view.text,
    text: view.text,
    // Changes of another text say nothing about the one that came in.
    splices: context.text === source ? view.splices : undefined,
    headers: view.headers,
    verdict,
    load: told(view.load),
    limit,
    edits: view.plan,
    epoch: epochId,
    declared: (view.conversation.changes?.addTools ?? []).map(({ name }) => name),
    report: {
      untouched: view.text === source,
      loadOriginal,
      loadBefore: before.load.count.high,
      loadAfter: high,
      newEpoch: epoch && { id: epoch.id, forced: epoch.forced, covered: epoch.count },
      shortened: edits.map((edit) => ({
        itemId: conversation.items[edit.index]!.id,
        handle: edit.record.handle,
        originalBytes: Buffer.byteLength(edit.original),
      })),
      tight,
      thresholds,
    },
  }
}

/** The client changed what it had sent. Another line of the same session, and the way back to one, is none of that. */
function tellBrokenPrefix({ context: { branch, links, emit } }: Permitted): void {
  const { requests } = branch
  const { last } = requests
  const shared = last === undefined ? 0 : sharedLinks(last.links, links)
  if (last === undefined || shared === 0 || shared === last.links.length) return
  const changed = links[shared]
  if (changed !== undefined && !requests.has(changed.chain))
    emit({ type: 'prefix-broken', by: 'client', atItem: changed.index })
}

/** As the policy has them for this request, rounded as they are told. */
function thresholdsOf(context: PrepareContext, { measurement }: View, aim: number | undefined): Thresholds {
  const { deps, branch, limit } = context
  const { head, tools } = measurement.parts
  return {
    high: Math.round(highWater(deps.policy, limit, branch.log.cacheIsWarm)),
    low: Math.round(aim ?? lowWater(deps.policy, limit, head + tools)),
  }
}

/** A design's own number may lie outside the bounds of our meter, which decide what may leave; who reads the load gets one interval that holds both. */
function told(load: Load): Load {
  const { tokens, low, high } = load.count
  if (low <= tokens && tokens <= high) return load
  return { ...load, count: { ...load.count, low: Math.min(low, tokens), high: Math.max(high, tokens) } }
}

function turnOf(
  { context, isClosing }: Permitted,
  { view, reservation }: Permission,
  {
    id,
    epoch,
    unwritten,
    thresholds,
  }: {
    readonly id: string
    readonly epoch: string | undefined
    readonly unwritten: Unwritten | undefined
    readonly thresholds: Thresholds
  },
): OpenTurn {
  const { deps, target, limit } = context
  const { measurement, estimate, conversation } = view
  const turn: Writable<OpenTurn> = {
    id,
    model: target.model,
    format: context.codec.format,
    limit,
    thresholds,
    estimated: measurement.raw.tokens,
    count: deps.meter.design === undefined ? estimate.count : measurement.count,
    measured: measuredOf(context, view),
    refusesOverflow: target.refusesOverflow ?? (target.endpoint === undefined && limit.source === 'catalogue'),
    isChained: isChained(conversation.settings),
    isClosing,
    startedAt: deps.clock.now(),
  }
  if (reservation !== undefined) turn.reservation = reservation
  if (target.endpoint !== undefined) turn.endpoint = target.endpoint
  if (epoch !== undefined) turn.epoch = epoch
  if (unwritten !== undefined) turn.unwritten = unwritten
  return turn
}

function measuredOf({ gauge, links }: PrepareContext, { measurement, conversation }: View): MeasuredRequest {
  const { parts, byClass } = measurement
  const measured: Writable<MeasuredRequest> = {
    chain: links.at(-1)?.chain ?? '',
    items: conversation.items.length,
    standing: parts.head + parts.tools,
    byClass,
  }
  if (!showsWholePrompt(conversation)) measured.partial = true
  if (isChained(conversation.settings)) measured.chained = true
  if (gauge.estimated !== true) measured.exact = true
  return measured
}

/** Without the history: the last request is remembered as long as its session. */
const askedOf = ({ format, settings, changes }: Conversation): Pick<Conversation, 'format' | 'settings'> => ({
  format,
  settings:
    changes?.maxOutputTokens === undefined ? settings : { ...settings, maxOutputTokens: changes.maxOutputTokens },
})

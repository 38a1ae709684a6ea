import { sharedLinks } from '../../core/chain.ts'
import type { Conversation } from '../../core/conversation.ts'
import type { Load, Thresholds } from '../../core/target.ts'
import { isChained, showsWholePrompt } from '../../core/whole-prompt.ts'
import type { Unwritten } from '../session/branch/open-turns.ts'
import { tellRefused } from '../spending/calls.ts'
import { toolUseOf } from '../tool-results/first-send.ts'
import type { PreparedTurn } from './prepared-turn.ts'
import type { Permitted } from './stages/permit.ts'
import { draftOf } from '../epoch/declare-epoch.ts'
import { highWater, lowWater } from '../epoch/thresholds.ts'

/** Remembers the request on its branch, opens its turn, and says what was done. */
export function finish(permitted: Permitted, unwritten: Unwritten | undefined): PreparedTurn {
  const { request, context, before, permission, edits, epoch, standing, moved } = permitted
  const { deps, branch, conversation, links, target, gauge, limit, emit } = context
  const { view, verdict } = permission
  const epochId = epoch?.id ?? standing.epoch?.id
  const { high } = view.load.count
  // What has to stay is looked at where it was: a long task raises what a compaction can aim at.
  const aim = epoch === undefined ? undefined : draftOf(context, standing).lowTokens
  const thresholds = thresholdsOf(permitted, aim)
  const id = openTurn(permitted, { epoch: epochId, unwritten, thresholds })
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
    format: request.format,
    model: target.model,
    load: high,
    original: loadOriginal,
    limit: limit.tokens,
    bytes: view.load.bytes,
    verdict: verdict.kind,
    edits: view.plan.length,
    tight,
  })
  if (isStopped(permitted))
    tellRefused(deps, branch, { by: 'plimsoll', model: target.model, turn: id, code: 'budget-exceeded' })
  return {
    id,
    body: typeof request.body === 'string' ? view.text : (JSON.parse(view.text) as object),
    text: view.text,
    ...(view.spliced?.text === view.text && { splices: view.spliced.splices }),
    headers: view.headers,
    verdict,
    load: told(view.load),
    limit,
    edits: view.plan,
    ...(epochId !== undefined && { epoch: epochId }),
    declared: (view.conversation.changes?.addTools ?? []).map(({ name }) => name),
    report: {
      untouched: view.text === context.text,
      loadOriginal,
      loadBefore: before.load.count.high,
      loadAfter: high,
      ...(epoch !== undefined && { newEpoch: { id: epoch.id, forced: epoch.forced, covered: epoch.count } }),
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
  const { last, sent } = branch.requests
  const shared = last === undefined ? 0 : sharedLinks(last.links, links)
  if (last === undefined || shared === 0 || shared === last.links.length) return
  const changed = links[shared]
  if (changed !== undefined && !sent.has(changed.chain))
    emit({ type: 'prefix-broken', by: 'client', atItem: changed.index })
}

/** As the policy has them for this request, rounded as they are told. */
function thresholdsOf({ context, permission }: Permitted, aim: number | undefined): Thresholds {
  const { deps, branch, limit } = context
  const { head, tools } = permission.view.measurement.parts
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

/** It is never sent. */
const isStopped = ({ request, permission }: Permitted): boolean =>
  permission.verdict.kind === 'halt' && request.sentAnyway !== true

function openTurn(
  permitted: Permitted,
  {
    epoch,
    unwritten,
    thresholds,
  }: {
    readonly epoch: string | undefined
    readonly unwritten: Unwritten | undefined
    readonly thresholds: Thresholds
  },
): string {
  const { request, context, permission, isClosing } = permitted
  const { deps, branch, target, gauge, links, limit } = context
  const id = branch.turns.newId(branch.log.turns)
  // There is nothing to record about it.
  if (isStopped(permitted)) return id
  const { measurement, estimate, conversation } = permission.view
  branch.turns.open({
    id,
    model: target.model,
    format: request.format,
    limit,
    thresholds,
    estimated: measurement.raw.tokens,
    count: deps.meter.design === undefined ? estimate.count : measurement.count,
    measured: {
      chain: links.at(-1)?.chain ?? '',
      items: conversation.items.length,
      standing: measurement.parts.head + measurement.parts.tools,
      byClass: measurement.byClass,
      ...(!showsWholePrompt(conversation, deps.memo.anyHides) && { partial: true }),
      ...(isChained(conversation.settings) && { chained: true }),
      ...(gauge.estimated !== true && { exact: true }),
    },
    refusesOverflow: target.refusesOverflow ?? (target.endpoint === undefined && limit.source === 'catalogue'),
    isChained: isChained(conversation.settings),
    isClosing,
    startedAt: deps.clock.now(),
    ...(permission.reservation !== undefined && { reservation: permission.reservation }),
    ...(target.endpoint !== undefined && { endpoint: target.endpoint }),
    ...(epoch !== undefined && { epoch }),
    ...(unwritten !== undefined && { unwritten }),
  })
  return id
}

/** Without the history: the last request is remembered as long as its session. */
const askedOf = ({ format, settings, changes }: Conversation): Pick<Conversation, 'format' | 'settings'> => ({
  format,
  settings:
    changes?.maxOutputTokens === undefined ? settings : { ...settings, maxOutputTokens: changes.maxOutputTokens },
})

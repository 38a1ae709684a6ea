import type { Conversation } from '../../core/conversation.ts'
import type { Load } from '../../core/target.ts'
import { isChained, showsWholePrompt } from '../../core/whole-prompt.ts'
import type { Unwritten } from '../session/branch/open-turns.ts'
import { fixedCountOf } from './counting.ts'
import { toolUseOf } from '../tool-results/first-send.ts'
import type { PreparedTurn } from './prepared-turn.ts'
import type { Permitted } from './stages/permit.ts'
import { lowWater } from '../epoch/thresholds.ts'

/** Remembers the request on its branch, opens its turn, and says what was done. */
export function finish(permitted: Permitted, unwritten: Unwritten | undefined): PreparedTurn {
  const { request, context, before, permission, edits, epoch, standing, moved } = permitted
  const { deps, branch, conversation, links, target, gauge, limit, emit } = context
  const { view, verdict } = permission
  const epochId = epoch?.id ?? standing.epoch?.id
  const { high } = view.load.count
  const id = openTurn(permitted, epochId, unwritten)
  const { items } = conversation
  const { epochs, firstSend } = standing
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
  const low = (): number => lowWater(deps.policy, limit, fixedCountOf(context)[lowBy])
  const tight = high > limit.tokens || (epoch !== undefined && view.load.count[lowBy] > low())
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
  return {
    id,
    body: typeof request.body === 'string' ? view.text : (JSON.parse(view.text) as object),
    text: view.text,
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
    },
  }
}

/** A design's own number may lie outside the bounds of our meter, which decide what may leave; who reads the load gets one interval that holds both. */
function told(load: Load): Load {
  const { tokens, low, high } = load.count
  return { ...load, count: { ...load.count, low: Math.min(low, tokens), high: Math.max(high, tokens) } }
}

function openTurn(
  { request, context, permission, isClosing }: Permitted,
  epoch: string | undefined,
  unwritten: Unwritten | undefined,
): string {
  const { format, sentAnyway = false } = request
  const { deps, branch, target, gauge, links, limit } = context
  const id = branch.turns.newId(branch.log.turns)
  // A halted request is never sent, so there is nothing to record about it.
  if (permission.verdict.kind === 'halt' && !sentAnyway) return id
  const { measurement, estimate, conversation } = permission.view
  branch.turns.open({
    id,
    model: target.model,
    format,
    limit,
    estimated: measurement.raw.tokens,
    count: deps.meter.design === undefined ? estimate.count : measurement.count,
    measured: {
      chain: links.at(-1)?.chain ?? '',
      items: conversation.items.length,
      standing: measurement.parts.head + measurement.parts.tools,
      byClass: measurement.byClass,
      ...(!showsWholePrompt(conversation) && { partial: true }),
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

import type { Epoch } from '../../core/records.ts'
import type { Unwritten } from '../session/branch/open-turns.ts'
import { fixedTokensOf, type PrepareContext, type View } from './context.ts'
import { toolUseOf, type NewEdit } from '../tool-results/first-send.ts'
import type { Permission } from '../spending/budget-gate.ts'
import type { PrepareRequest, PreparedTurn } from './prepared-turn.ts'
import type { Standing } from './standing.ts'
import { lowWater } from '../epoch/thresholds.ts'

/** What became of a request. */
export interface Outcome {
  readonly before: View
  readonly permission: Permission
  readonly newEdits: readonly NewEdit[]
  readonly epoch: Epoch | undefined
  readonly standing: Standing
  /** The standing epoch had to be moved, and was recorded anew. */
  readonly moved: boolean
  readonly unwritten: Unwritten | undefined
}

/** Remembers the request on its branch, opens its turn, and says what was done. */
export function finish(context: PrepareContext, request: PrepareRequest, outcome: Outcome): PreparedTurn {
  const { deps, branch, conversation, links, target, gauge, limit, emit } = context
  const { before, newEdits, epoch, permission } = outcome
  const { view, verdict } = permission
  const epochId = epoch?.id ?? outcome.standing.epoch?.id
  const { high } = view.load.count
  const id = openTurn(context, request, permission, epochId, outcome.unwritten)
  const { items } = conversation
  const { epochs, firstSend } = outcome.standing
  branch.requests.prepared(
    { items, links, model: target.model, load: view.load, limit, readers: context.readers },
    {
      known: context.known.links,
      // An epoch of this request is found by the next one, like any other.
      trail:
        epoch === undefined && !outcome.moved
          ? { items, links, epochs, firstSend, decisions: branch.log.decisions }
          : undefined,
      isReduced: epoch !== undefined,
    },
  )
  branch.toolUse.is(toolUseOf(context, outcome.standing))
  const tight = epoch !== undefined && high > lowWater(deps.policy, limit, fixedTokensOf(context))
  if (verdict.kind !== 'proceed') emit({ type: 'verdict-given', verdict })
  if (high > deps.policy.water.warn * limit.tokens) emit({ type: 'context-warning', load: high, limit: limit.tokens })
  emit({
    type: 'request-prepared',
    load: high,
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
    load: view.load,
    limit,
    edits: view.plan,
    ...(epochId !== undefined && { epoch: epochId }),
    report: {
      untouched: view.text === context.text,
      loadOriginal: view.plan.length === 0 ? high : deps.meter.measure(gauge, conversation, 0).count.high,
      loadBefore: before.load.count.high,
      loadAfter: high,
      ...(epoch !== undefined && { newEpoch: { id: epoch.id, forced: epoch.forced, covered: epoch.count } }),
      shortened: newEdits.map((edit) => ({
        itemId: conversation.items[edit.index]!.id,
        handle: edit.record.handle,
        originalBytes: Buffer.byteLength(edit.original),
      })),
      tight,
    },
  }
}

function openTurn(
  { deps, branch, target, links, limit }: PrepareContext,
  { format, sentAnyway = false }: PrepareRequest,
  permission: Permission,
  epoch: string | undefined,
  unwritten: Outcome['unwritten'],
): string {
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
    },
    startedAt: deps.clock.now(),
    ...(permission.reservation !== undefined && { reservation: permission.reservation }),
    ...(target.endpoint !== undefined && { endpoint: target.endpoint }),
    ...(epoch !== undefined && { epoch }),
    ...(unwritten !== undefined && { unwritten }),
  })
  return id
}

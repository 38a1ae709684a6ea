import { RECORD_VERSION } from '../../core/records.ts'
import { announceEpoch, askBeforeEpoch, type DeclaredEpoch } from './announce-epoch.ts'
import type { PrepareContext, View, Standing } from '../prepare/context.ts'
import { isOver } from '../prepare/counting.ts'
import { declareEpoch } from './declare-epoch.ts'
import { isOverheadHigh } from './needs-epoch.ts'
import { priceGate } from './price-gate.ts'
import { appendTo } from '../session/log.ts'
import { nextRound } from '../../util/yield-now.ts'

/** Makes an epoch; where none makes the request fit, the smallest view that was found. */
export async function makeEpoch(
  context: PrepareContext,
  standing: Standing,
  before: View,
  log: () => Promise<void>,
): Promise<{ readonly declared?: DeclaredEpoch; readonly smallest?: View }> {
  const { branch, limit } = context
  const { wish } = branch
  const forced = isOver(before.load, limit)
  const { request: requested } = wish
  const why = forced ? 'overflow' : requested !== undefined ? 'requested' : 'high-water'
  const hooked = await askBeforeEpoch(context, before, why)
  if (hooked === undefined) return {}
  const gate = forced || requested !== undefined ? undefined : priceGate(context, before)
  const epoch = await declareEpoch(context, standing, {
    accepts: gate && ((planned) => gate.accepts(planned)),
    forced,
    loadBefore: before.load.count.high,
    bytesBefore: before.load.bytes,
    before,
    modelFree: isOverheadHigh(context),
    requested,
    preserve: hooked.preserve,
    alongside: log,
  })
  wish.answer('nothing' in epoch ? epoch.nothing : undefined)
  if ('nothing' in epoch) {
    // Nothing came of what the log asks for: no other process tries it again.
    const { deps } = context
    const asked = { v: RECORD_VERSION, at: deps.clock.now(), agent: branch.agent, type: 'compaction-asked' } as const
    if (requested?.isLogged === true) await appendTo(deps, branch, [{ ...asked, refusal: epoch.nothing }])
    return epoch.view === undefined ? {} : { smallest: epoch.view }
  }
  await nextRound()
  return { declared: await announceEpoch(context, standing, before, epoch, { why, forced, price: gate?.quote() }) }
}

import type { LogRecord } from '../../core/records.ts'
import type { PrepareContext, View, Standing } from '../prepare/context.ts'
import { isOver } from '../prepare/counting.ts'
import { appendTo } from '../session/log.ts'
import { planEpoch } from './cascade/plan-epoch.ts'
import { askBeforeEpoch, recordPlan, takeEffect, viewOfPlan, type MadeEpoch } from './declare-epoch.ts'
import { draftOf } from './draft-of.ts'
import { epochsInARow, MOST_IN_A_ROW } from './needs-epoch.ts'
import { priceGate } from './price-gate.ts'
import { isHigh } from './thresholds.ts'
import { summaryWriter } from './summary/summary-writer.ts'

/**
 * Starts a summary below high water, so that no request waits for it later. One at a time for each agent; after one that came to
 * nothing the next waits for as many new tokens as the policy rests between epochs.
 */
export async function startSummary(context: PrepareContext, standing: Standing, view: View): Promise<void> {
  const { deps, branch, links, limit } = context
  const { summaries, water } = deps.policy
  const { background } = branch
  const backgroundFrom = summaries?.backgroundFrom
  if (backgroundFrom === undefined || deps.summarizer === undefined || deps.background === undefined) return
  if (background.history !== undefined || branch.log.wish !== undefined || links.length === 0) return
  const { high } = view.load.count
  const rested = Math.max(standing.epoch?.after ?? 0, background.startedAt) + water.rest * limit.tokens
  if (high <= backgroundFrom * limit.tokens || high < rested || epochsInARow(context, standing.epoch) >= MOST_IN_A_ROW)
    return
  const preserve = await askBeforeEpoch(context, view, 'background')
  if (preserve === undefined) return
  const plan = await planEpoch(draftOf(context, standing, preserve), deps.policy)
  if (plan.asks === undefined) return
  const history = { chain: links.at(-1)!.chain, count: links.length, standing: standing.epoch?.id }
  const work = deps.background.run(async (signal) => {
    const records: LogRecord[] = []
    const write = summaryWriter({ ...context, send: undefined, inBackground: { signal, records } }, view, false)
    // A model's words are shorter than what they stand for, and that fits.
    const written = await write(plan, () => true)
    // What code alone would write needs no head start: it is made when it is needed, from all that came by then.
    background.finish(history, written === plan ? undefined : written)
    if (records.length > 0) await branch.inOrder((engine) => appendTo(engine, branch, records))
  })
  background.start(history, high, work)
}

/**
 * Makes a finished summary an epoch, if what it stands for still stands where it stood. What came since stays behind it. Without a need it
 * waits until it pays; one that would not make the request fit gives way to a new plan.
 */
export async function takeSummary(
  context: PrepareContext,
  standing: Standing,
  before: View,
  log: () => Promise<void>,
): Promise<MadeEpoch> {
  const { deps, branch, links, limit, emit } = context
  const { background } = branch
  const { history, proposal } = background
  if (history === undefined || branch.log.wish !== undefined) return {}
  const { count, chain } = history
  if (links[count - 1]?.chain !== chain || standing.epoch?.id !== history.standing) {
    emit({ type: 'warning', topic: 'summary', message: 'What a background summary stands for is no longer there.' })
    background.drop()
    return {}
  }
  if (proposal === undefined) return {}
  const forced = isOver(before.load, limit)
  // Written ahead, it waits for its time; a policy that weighs prices may find an earlier one.
  const { policy } = deps
  if (!forced && policy.priceGate !== true && !isHigh(policy, limit, before.load, branch.log.cacheIsWarm)) return {}
  const gate = forced ? undefined : priceGate(context, before)
  const cause = { forced, before, gate, count, log }
  if (gate?.accepts(viewOfPlan(context, standing, cause, proposal)) === false) return {}
  background.drop()
  const epoch = await recordPlan(context, standing, cause, proposal, false)
  return epoch === undefined || 'nothing' in epoch ? {} : takeEffect(context, standing, cause, epoch, 'background')
}

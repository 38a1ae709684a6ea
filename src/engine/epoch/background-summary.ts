import type { LogRecord } from '../../core/records.ts'
import { storeTexts, appendTo } from '../session/log.ts'
import { draftOf } from './draft-of.ts'
import { epochsInARow, MOST_IN_A_ROW } from './needs-epoch.ts'
import type { Proposal } from './cascade/draft.ts'
import { summaryWriter } from './summary/summary-writer.ts'
import { summaryLease } from './summary/summary-lease.ts'
import { planEpoch } from './cascade/plan-epoch.ts'
import type { PrepareContext, View, Standing } from '../prepare/context.ts'
import { isOver } from '../prepare/counting.ts'
import { epochOf, ownTexts, viewUnder, type Cause } from './declare-epoch.ts'
import { announceEpoch, askBeforeEpoch, type DeclaredEpoch } from './announce-epoch.ts'
import { priceGate } from './price-gate.ts'
import { recallUnder } from './record/record-recall.ts'

/**
 * Starts a summary below high water, so that no request waits for it later. One at a time for each agent; after one that came to
 * nothing the next waits for as many new tokens as the policy rests between epochs.
 */
export async function startSummary(context: PrepareContext, standing: Standing, view: View): Promise<void> {
  const { deps, branch, links, limit } = context
  const { summaries, water } = deps.policy
  const from = summaries?.backgroundFrom
  const { background: work } = deps
  if (from === undefined || deps.summarizer === undefined || work === undefined) return
  const { background } = branch
  if (background.summary !== undefined || branch.wish.request !== undefined || links.length === 0) return
  const { high } = view.load.count
  const rested = Math.max(standing.epoch?.after ?? 0, background.startedAt) + water.rest * limit.tokens
  if (high <= from * limit.tokens || high < rested || epochsInARow(context, standing.epoch) >= MOST_IN_A_ROW) return
  const wish = await askBeforeEpoch(context, view, 'background')
  if (wish === undefined) return
  const plan = await planEpoch(draftOf(context, standing, wish.preserve), deps.policy)
  if (plan.edits.length === 0 || plan.asks === undefined) return
  const history = { chain: links.at(-1)!.chain, count: links.length, standing: standing.epoch?.id }
  background.start(history, high, (finish) =>
    work.run(async (signal) => {
      const records: LogRecord[] = []
      const lease = summaryLease(context, 0, standing)
      let own: Proposal | undefined
      try {
        // Another process writes about the same history, or has written: this one does not wait for it.
        if ((await lease.take()) !== 'ours') return
        const log = async (record: LogRecord): Promise<void> => void records.push(record)
        const cause = causeOf(view, false)
        const fits = (candidate: Proposal): boolean =>
          !isOver(viewUnder(context, standing, epochOf(context, standing, cause, candidate)).load, limit)
        const written = await summaryWriter(context, { signal, log }).fulfil(plan, fits)
        // What code alone would write needs no head start: it is made when it is needed, from all that came by then.
        if (written !== plan && !signal.aborted) own = written
      } finally {
        finish(own)
        await lease.release()
        if (records.length > 0) await branch.inOrder((engine) => appendTo(engine, branch, records))
      }
    }),
  )
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
): Promise<DeclaredEpoch | undefined> {
  const { deps, branch, links, limit, emit } = context
  const { background } = branch
  const { summary } = background
  if (summary === undefined) return undefined
  if (links[summary.count - 1]?.chain !== summary.chain || standing.epoch?.id !== summary.standing) {
    emit({ type: 'warning', topic: 'summary', message: 'What a background summary stands for is no longer there.' })
    background.drop()
    return undefined
  }
  if (!summary.isOver) return undefined
  const { proposal } = summary
  if (proposal === undefined) background.drop()
  if (proposal === undefined) return undefined
  const cause = causeOf(before, isOver(before.load, limit))
  const planned = epochOf(context, standing, cause, proposal, summary.count)
  const view = viewUnder(context, standing, planned)
  const { load } = view
  const gate = cause.forced ? undefined : priceGate(context, before)
  if (gate?.accepts(view) === false) return undefined
  background.drop()
  if (isOver(load, limit) || load.count.high >= before.load.count.high) return undefined
  await storeTexts(deps, branch, ownTexts(context, proposal))
  // Together, so that a store can make them durable with one flush.
  const [{ epoch }] = await Promise.all([
    deps.sessions.claimEpoch(branch.tenant, branch.session, {
      ...planned,
      after: load.count.high,
      recall: recallUnder(context, planned, view),
    }),
    log(),
  ])
  const about = { why: 'background', forced: cause.forced, price: gate?.quote() } as const
  return announceEpoch(context, standing, before, epoch, about)
}

const causeOf = ({ load }: View, forced: boolean): Cause => ({
  forced,
  loadBefore: load.count.high,
  bytesBefore: load.bytes,
})

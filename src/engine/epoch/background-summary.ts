import type { LogRecord } from '../../core/records.ts'
import { storeTexts } from '../session/archive.ts'
import type { RunningWork } from '../session/background-work.ts'
import { epochsInARow, MOST_IN_A_ROW } from './breaker.ts'
import type { Branch } from '../session/branch.ts'
import type { Proposal } from './cascade/draft.ts'
import { summaryWriter } from './cascade/fulfil.ts'
import { summaryLease } from './summary/summary-lease.ts'
import { planWithinBytes } from './cascade/plan-within-bytes.ts'
import { isOver, type PrepareContext, type View } from '../prepare/context.ts'
import { draftOf, epochOf, ownTexts, viewUnder, type Cause } from './declare-epoch.ts'
import { announceEpoch, type DeclaredEpoch } from './announce-epoch.ts'
import { askBeforeEpoch } from './epoch-hooks.ts'
import { priceGate } from './price-gate.ts'
import { recallUnder } from './recall-under.ts'
import { appendTo } from '../session/restore.ts'
import type { Standing } from '../prepare/standing.ts'

/** A summary that is being written, or was written and waits for its request. Memory only: what counts is the epoch's record. */
export interface BackgroundSummary {
  /** The history that it stands for, by its chain hash and length. */
  readonly chain: string
  readonly count: number
  /** The epoch that stood when it was planned. */
  readonly standing: string | undefined
  /** The plan with a model's words in it; undefined while it is being written, or when there are none. */
  proposal?: Proposal
  isOver: boolean
  work?: RunningWork
}

/**
 * Starts a summary below high water, so that no request waits for it later. One at a time for each agent; after one that came to
 * nothing the next waits for as many new tokens as the policy rests between epochs.
 */
export async function startSummary(context: PrepareContext, standing: Standing, view: View): Promise<void> {
  const { deps, branch, links, limit } = context
  const { summaries, cascade, water, asDesigned } = deps.policy
  const from = summaries?.backgroundFrom
  if (from === undefined || deps.summarizer === undefined || deps.background === undefined || asDesigned === true)
    return
  if (branch.summary !== undefined || branch.compactRequested || links.length === 0) return
  const { high } = view.load.count
  const rested = Math.max(standing.epoch?.after ?? 0, branch.summaryRest ?? 0) + water.rest * limit.tokens
  if (high <= from * limit.tokens || high < rested || epochsInARow(context, standing.epoch) >= MOST_IN_A_ROW) return
  const wish = await askBeforeEpoch(context, view, 'background')
  if (wish === undefined) return
  const plan = planWithinBytes(draftOf(context, standing, wish.preserve), cascade)
  if (plan.edits.length === 0 || plan.asks === undefined) return
  branch.summaryRest = high
  const summary: BackgroundSummary = {
    chain: links.at(-1)!.chain,
    count: links.length,
    standing: standing.epoch?.id,
    isOver: false,
  }
  const work = deps.background.run(async (signal) => {
    const records: LogRecord[] = []
    const lease = summaryLease(context, 0, standing.epoch)
    try {
      // Another process writes about the same history, or has written: this one does not wait for it.
      if ((await lease.take()) !== 'ours') return
      const log = async (record: LogRecord): Promise<void> => void records.push(record)
      const cause = causeOf(view, false)
      const fits = (candidate: Proposal): boolean =>
        !isOver(viewUnder(context, standing, epochOf(context, standing, cause, candidate)).load, limit)
      const written = await summaryWriter(context, { signal, log }).fulfil(plan, fits)
      // What code alone would write needs no head start: it is made when it is needed, from all that came by then.
      if (written !== plan && !signal.aborted) summary.proposal = written
    } finally {
      summary.isOver = true
      await lease.release()
      if (records.length > 0) await branch.inTurn?.((engine) => appendTo(engine, branch, records))
    }
  })
  if (work === undefined) return
  summary.work = work
  branch.summary = summary
}

/** Whether a summary is being written: an epoch that nothing forces waits for it. */
export const isWriting = ({ summary }: Branch): boolean => summary !== undefined && !summary.isOver

export function dropSummary(branch: Branch): void {
  branch.summary?.work?.abort()
  delete branch.summary
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
  const { summary } = branch
  if (summary === undefined) return undefined
  const isThere = links[summary.count - 1]?.chain === summary.chain && standing.epoch?.id === summary.standing
  if (!isThere) {
    emit({ type: 'warning', topic: 'summary', message: 'What a background summary stands for is no longer there.' })
    dropSummary(branch)
    return undefined
  }
  if (!summary.isOver) return undefined
  const { proposal } = summary
  if (proposal === undefined) {
    dropSummary(branch)
    return undefined
  }
  const cause = causeOf(before, isOver(before.load, limit))
  const planned = epochOf(context, standing, cause, proposal, summary.count)
  const view = viewUnder(context, standing, planned)
  const { load } = view
  const gate = cause.forced ? undefined : priceGate(context, before)
  if (gate?.accepts(view) === false) return undefined
  dropSummary(branch)
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
  const price = gate?.quote()
  return announceEpoch(context, standing, before, epoch, {
    why: 'background',
    forced: cause.forced,
    ...(price !== undefined && { price }),
  })
}

const causeOf = ({ load }: View, forced: boolean): Cause => ({
  forced,
  loadBefore: load.count.high,
  bytesBefore: load.bytes,
})

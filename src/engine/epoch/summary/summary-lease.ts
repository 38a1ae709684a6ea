import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { isDeclaredOn } from '../../../core/epochs.ts'
import { isPlimsollError } from '../../../core/errors.ts'
import type { Epoch } from '../../../core/records.ts'
import type { PrepareContext, Standing } from '../../prepare/context.ts'

/** A holder that died is waited for no longer than this; a living one renews three times as often. */
const LEASE_MS = 15_000
const RENEW_MS = LEASE_MS / 3
const FIRST_WAIT_MS = 50
const LONGEST_WAIT_MS = 500

/** `ours`: no other request asks a model about this history. `busy`: another one does and was not done in time. An epoch: what it made of it. */
export type SummaryRight = 'ours' | 'busy' | Epoch

/** The right to ask a model about one history, held by one request of all processes that share the store. */
export interface SummaryLease {
  /** Waits for the request that holds it, at most `waitMs`. The answer stands until `release`. */
  take(): Promise<SummaryRight>
  release(): Promise<void>
}

/**
 * A model call costs money and gives other words each time, so each history is summarised once: a second request waits and
 * takes the epoch of the first. What this session has declared already is no answer.
 */
export function summaryLease(context: PrepareContext, waitMs: number, standing: Standing): SummaryLease {
  const { deps, branch, links } = context
  const { sessions } = deps
  const chain = links.at(-1)?.chain ?? ''
  const work = `summary:${chain}`
  const chains = links.map((link) => link.chain)
  const ours = new Set(standing.epochs.map(({ epoch }) => epoch.id).filter((id) => branch.log.epochs.has(id)))
  if (standing.epoch !== undefined) ours.add(standing.epoch.id)
  const holder = randomUUID()
  let right: Promise<SummaryRight> | undefined
  let renewal: NodeJS.Timeout | undefined

  const hold = (): Promise<boolean> => sessions.lease(branch.tenant, work, holder, LEASE_MS)

  async function wait(): Promise<SummaryRight> {
    const deadline = performance.now() + waitMs
    for (let pause = FIRST_WAIT_MS; ; pause = Math.min(pause * 2, LONGEST_WAIT_MS)) {
      const isOurs = await hold()
      // Looked for after the lease was asked for: its last holder writes the epoch first and lets go then. An epoch is found by what it covers,
      // which ends somewhere before the end of the history it was declared for.
      const found = await sessions.findEpochs(branch.tenant, chains)
      const others = found.find(
        ({ epoch, undoneIn }) =>
          isDeclaredOn(epoch, chain) && !ours.has(epoch.id) && !undoneIn.includes(branch.session),
      )
      if (others !== undefined) {
        if (isOurs) await sessions.releaseLease(branch.tenant, work, holder)
        return others.epoch
      }
      if (isOurs) {
        renewal = setInterval(() => void hold().catch(() => undefined), RENEW_MS)
        renewal.unref()
        return 'ours'
      }
      if (performance.now() + pause > deadline) return 'busy'
      await delay(pause)
    }
  }

  return {
    take() {
      right ??= wait().catch((error: unknown) => {
        // Without the store it is not known who is at work; the plan is then made by code alone.
        if (isPlimsollError(error, 'store-unavailable')) return 'busy'
        throw error
      })
      return right
    },
    async release() {
      if ((await right?.catch(() => 'busy')) !== 'ours') return
      clearInterval(renewal)
      // A store that is away lets it run out.
      await sessions.releaseLease(branch.tenant, work, holder).catch(() => undefined)
    },
  }
}

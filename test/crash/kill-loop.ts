import type { MaintainedStore } from '../../src/ports/store-maintenance.ts'
import { seeded } from '../stores/support/random.ts'
import { startWorker } from '../stores/support/worker-process.ts'
import { TENANT, checkAcknowledged, checkLog, logOf, type Acknowledged } from './history.ts'

export interface KillLoopResult {
  readonly kills: number
  readonly acknowledged: number
  readonly records: number
}

// `npm run test:crash` asks for 200.
export const KILLS = Number(process.env['PLIMSOLL_KILLS'] ?? 20)
export const SEED = Number(process.env['PLIMSOLL_SEED'] ?? 20_261_115)

/** A writer is killed up to this long after it has acknowledged up to this many operations. */
const LONGEST_WAIT_MS = 25
const MOST_OPERATIONS = 40
/** Every acknowledged record of all runs is looked at again this often; those of the last run always. */
const FULL_CHECK_EVERY = 20

/** Kills a writing process `kills` times at moments drawn from `seed`, and looks at everything after each restart. */
export async function killLoop(
  url: string,
  open: () => MaintainedStore,
  kills: number,
  seed: number,
): Promise<KillLoopResult> {
  const random = seeded(seed)
  const everything: Acknowledged[] = []
  let records = 0
  for (let run = 0; run < kills; run++) {
    const acknowledged = await runUntilKilled(url, seed + run, run, {
      operations: random.below(MOST_OPERATIONS),
      waitMs: random.next() * LONGEST_WAIT_MS,
    })
    everything.push(...acknowledged)
    const store = open()
    try {
      const last = run === kills - 1
      records = await inspect(
        store,
        run % FULL_CHECK_EVERY === 0 || last ? everything : acknowledged,
        last || run % FULL_CHECK_EVERY === 0,
      )
    } catch (error) {
      throw new Error(`After kill ${run} of seed ${seed}: ${String(error)}`, { cause: error })
    } finally {
      await store.close()
    }
  }
  return { kills, acknowledged: everything.length, records }
}

async function inspect(store: MaintainedStore, acknowledged: readonly Acknowledged[], whole: boolean): Promise<number> {
  const wanted = new Set(
    acknowledged.flatMap(({ session, from }) => (from === undefined ? [session] : [session, from])),
  )
  const sessions = await store.list(TENANT, { limit: 100_000 })
  const logs = new Map(
    await Promise.all(
      sessions
        .map(({ session }) => session)
        .filter((session) => whole || wanted.has(session))
        .map(async (session) => [session, await logOf(store, session)] as const),
    ),
  )
  for (const [session, log] of logs) checkLog(session, log)
  await checkAcknowledged(store, logs, acknowledged)
  const problems = await store.check()
  if (problems.length > 0) throw new Error(`The store is not clean: ${JSON.stringify(problems.slice(0, 5))}`)
  return sessions.reduce((sum, { version }) => sum + version, 0)
}

interface Moment {
  readonly operations: number
  readonly waitMs: number
}

async function runUntilKilled(url: string, seed: number, run: number, moment: Moment): Promise<Acknowledged[]> {
  const worker = startWorker(new URL('worker.ts', import.meta.url), [url, String(seed), String(run)])
  const acknowledged: Acknowledged[] = []
  let lines = 0
  worker.onLine((line) => {
    const said = JSON.parse(line) as Acknowledged | 'ready'
    if (said !== 'ready') acknowledged.push(said)
    if (lines++ === moment.operations) setTimeout(() => worker.child.kill('SIGKILL'), moment.waitMs)
  })
  const { signal, errors } = await worker.done
  if (signal !== 'SIGKILL') throw new Error(`The writer ended by itself: ${errors}`)
  return acknowledged
}

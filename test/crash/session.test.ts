import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openArtifacts, artifactsBeside } from '../../src/drivers/open-artifacts.ts'
import { storeSecret } from '../../src/drivers/crypto/tenant-name.ts'
import { sqliteStore } from '../../src/drivers/sessions/sqlite/index.ts'
import { verifyStore } from '../../src/engine/store-admin/store-admin.ts'
import { readAll } from '../../src/testing/session-store/records.ts'
import { seeded } from '../stores/support/random.ts'
import { withFolder } from '../stores/support/temporary.ts'
import { startWorker } from '../stores/support/worker-process.ts'
import { KILLS, SEED } from './kill-loop.ts'

/** Starting the engine costs more than a bare store: a quarter of the kills. */
const RUNS = Math.ceil(KILLS / 4)

interface Answered {
  readonly steps: number
  readonly turn: string
  readonly epoch?: string
  readonly digest: string
}

it.each(['stays', 'moves'])(
  `an agent's recorded answers and all they show are there after ${RUNS} kills, and its last request is the same, with a tail that %s (seed ${SEED})`,
  { timeout: 60_000 + RUNS * 20_000 },
  async (tail) => {
    await withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const random = seeded(SEED)
      const answered: Answered[] = []
      for (let run = 0; run < RUNS; run++) {
        answered.push(...(await runUntilKilled(`sqlite:${path}`, answered.at(-1), tail, random)))
        await check(path, answered)
      }
      console.info(`agent on sqlite: ${RUNS} kills, ${answered.length} recorded answers`)
      expect(answered.length).toBeGreaterThan(RUNS)
      expect(answered.some(({ epoch }) => epoch !== undefined)).toBe(true)
    })
  },
)

async function runUntilKilled(
  url: string,
  last: Answered | undefined,
  tail: string,
  random: ReturnType<typeof seeded>,
): Promise<Answered[]> {
  const from = String((last?.steps ?? 0) + 1)
  const worker = startWorker(new URL('session-worker.ts', import.meta.url), [url, from, tail, last?.digest ?? ''])
  const answered: Answered[] = []
  const wanted = 1 + random.below(20)
  const waitMs = random.next() * 25
  worker.onLine((line) => {
    answered.push(JSON.parse(line) as Answered)
    if (answered.length === wanted) setTimeout(() => worker.child.kill('SIGKILL'), waitMs)
  })
  const { signal, errors } = await worker.done
  if (signal !== 'SIGKILL') throw new Error(`The agent ended by itself: ${errors}`)
  return answered
}

async function check(path: string, answered: readonly Answered[]): Promise<void> {
  const store = sqliteStore({ path })
  const artifacts = openArtifacts(artifactsBeside(`sqlite:${path}`), { secret: await storeSecret(store) })
  try {
    const log = (await readAll(store, 'local', 'agent')).map(({ record }) => record)
    const calls = new Set(log.flatMap((record) => (record.type === 'item-seen' ? (record.callId ?? []) : [])))
    const last = answered.at(-1)?.steps ?? 0
    for (let step = 1; step <= last; step++) expect(calls.has(`toolu_${step}`), `step ${step}`).toBe(true)
    const recorded = log.filter((record) => record.type === 'usage').length
    expect(recorded).toBeGreaterThanOrEqual(answered.length)
    const epochs = new Set(log.flatMap((record) => (record.type === 'epoch' ? record.id : [])))
    for (const { epoch } of answered) if (epoch !== undefined) expect(epochs.has(epoch)).toBe(true)
    expect(await verifyStore(store, { artifacts })).toMatchObject({ clean: true, problems: [], dangling: [] })
  } finally {
    await artifacts.close()
    await store.close()
  }
}

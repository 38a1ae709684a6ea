import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ItemSeen } from '../src/core/records.ts'
import { openStore } from '../src/drivers/open-store.ts'
import type { SessionStore } from '../src/ports/session-store.ts'
import { startPostgres } from '../test/stores/support/postgres-server.ts'
import { seeded } from '../test/stores/support/random.ts'

/*
 * Cold restore of a 1,000-message session, and what an append costs as a session grows. `--postgres` does the same there.
 * A child of itself does the cold part, since only a new process is cold.
 */

const MESSAGES = 1000
const COLD_RUNS = 9
const LENGTHS = [10, 1000, 10_000, 30_000]
const APPENDS_PER_LENGTH = 200
const RESTORE_LIMIT_MS = 50
/** Growth of the median append from the shortest to the longest session that still counts as flat. */
const GROWTH_LIMIT = 2

const WORDS =
  'the build failed because module config could not resolve path error line test passed request timeout value return function'.split(
    ' ',
  )

function message(i: number): ItemSeen {
  const random = seeded(i + 1)
  const text = Array.from({ length: 40 + random.below(400) }, () => WORDS[random.below(WORDS.length)]).join(' ')
  const identity = `${i}`.padStart(64, '0')
  return {
    v: 1,
    type: 'item-seen',
    at: i,
    identity,
    chain: identity,
    kind: 'result',
    role: 'tool',
    text: `${text} ${i}`,
    fragment: JSON.stringify(`${text} ${i}`),
  }
}

const median = (numbers: readonly number[]): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0

async function restore(url: string, warmUp: string): Promise<void> {
  const loading = performance.now()
  const other = openStore(warmUp)
  await other.version('t', 's')
  await other.close()
  const start = performance.now()
  const cpu = process.cpuUsage()
  const store = openStore(url)
  let records = 0
  for await (const { record } of store.read('t', 's')) records += record.type === 'item-seen' ? 1 : 0
  await store.findEpochs('t', ['none'])
  const ms = performance.now() - start
  const { user, system } = process.cpuUsage(cpu)
  await store.close()
  console.info(
    JSON.stringify({ ms, cpuMs: (user + system) / 1000, loadMs: start - loading, records } satisfies Restored),
  )
}

interface Restored {
  readonly ms: number
  /** What the process worked: the figure that a busy machine does not change. */
  readonly cpuMs: number
  /** Loading the database's library and opening another, small store. */
  readonly loadMs: number
  readonly records: number
}

function coldRestore(url: string, warmUp: string): Restored {
  const runs = Array.from({ length: COLD_RUNS }, () => {
    const args = ['--import', 'tsx', fileURLToPath(import.meta.url), 'restore', url, warmUp]
    return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as Restored
  })
  return {
    ms: median(runs.map(({ ms }) => ms)),
    cpuMs: median(runs.map(({ cpuMs }) => cpuMs)),
    loadMs: median(runs.map(({ loadMs }) => loadMs)),
    records: runs[0]?.records ?? 0,
  }
}

/** Sessions of all lengths take turns, so that whatever else the machine does falls on all of them alike. */
async function appendCosts(store: SessionStore): Promise<{ length: number; medianMs: number }[]> {
  const sessions = LENGTHS.map((length) => ({ length, name: `of ${length}`, version: 0, times: [] as number[] }))
  for (const session of sessions) {
    while (session.version < session.length) {
      const batch = Array.from({ length: Math.min(500, session.length - session.version) }, (_, i) =>
        message(session.version + i),
      )
      session.version = await store.append('t', session.name, batch)
    }
  }
  for (let i = 0; i < APPENDS_PER_LENGTH; i++) {
    for (const session of sessions) {
      const record = message(1_000_000 + i)
      const start = performance.now()
      session.version = await store.append('t', session.name, [record], session.version)
      session.times.push(performance.now() - start)
    }
  }
  return sessions.map(({ length, times }) => ({ length, medianMs: median(times) }))
}

async function lookupCost(store: SessionStore): Promise<number> {
  const hashes = Array.from({ length: 1000 }, (_, i) => message(i).chain)
  const times: number[] = []
  for (let i = 0; i < 50; i++) {
    const start = performance.now()
    await store.findEpochs('t', hashes)
    times.push(performance.now() - start)
  }
  return median(times)
}

async function measure(name: string, url: string, warmUp: string): Promise<boolean> {
  const store = openStore(url)
  await store.append(
    't',
    's',
    Array.from({ length: MESSAGES }, (_, i) => message(i)),
  )
  const bytes = (await store.list('t'))[0]?.bytes ?? 0
  const restored = coldRestore(url, warmUp)
  const costs = await appendCosts(store)
  const lookup = await lookupCost(store)
  await store.close()
  const growth = (costs.at(-1)?.medianMs ?? 0) / (costs[0]?.medianMs ?? 1)
  const size = `${restored.records} messages (${(bytes / 1e6).toFixed(1)} MB)`
  console.info(`${name}: cold restore of ${size} ${restored.ms.toFixed(1)} ms, ${restored.cpuMs.toFixed(1)} ms of CPU`)
  console.info(`${name}: loading the library before that ${restored.loadMs.toFixed(1)} ms`)
  for (const { length, medianMs } of costs)
    console.info(`${name}: append at ${length} records ${medianMs.toFixed(3)} ms`)
  console.info(`${name}: findEpochs over 1000 hashes ${lookup.toFixed(2)} ms`)
  console.info(`${name}: append grew ${growth.toFixed(2)} times from ${LENGTHS[0]} to ${LENGTHS.at(-1)} records`)
  return (name !== 'sqlite' || Math.min(restored.ms, restored.cpuMs) <= RESTORE_LIMIT_MS) && growth <= GROWTH_LIMIT
}

const [command, url = '', warmUp = ''] = process.argv.slice(2)
if (command === 'restore') {
  await restore(url, warmUp)
} else {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-bench-'))
  let good = await measure('sqlite', `sqlite:${join(folder, 'store.db')}`, `sqlite:${join(folder, 'other.db')}`)
  rmSync(folder, { recursive: true })
  if (process.argv.includes('--postgres')) {
    const server = await startPostgres()
    good = (await measure('postgres', server.url, `${server.url}&schema=other`)) && good
    await server.stop()
  }
  if (!good) console.error('A limit was missed.')
  process.exitCode = good ? 0 : 1
}

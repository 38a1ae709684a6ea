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

async function restore(url: string): Promise<void> {
  const start = performance.now()
  const cpu = process.cpuUsage()
  const store = openStore(url)
  let records = 0
  let characters = 0
  for await (const { record } of store.read('t', 's')) {
    records++
    characters += record.type === 'item-seen' ? record.text.length : 0
  }
  await store.findEpochs('t', ['none'])
  const ms = performance.now() - start
  const { user, system } = process.cpuUsage(cpu)
  await store.close()
  console.info(JSON.stringify({ ms, cpuMs: (user + system) / 1000, records, characters }))
}

interface Restored {
  readonly ms: number
  /** What the process worked: the figure that a busy machine does not change. */
  readonly cpuMs: number
  readonly records: number
}

function coldRestore(url: string): Restored {
  const runs = Array.from({ length: COLD_RUNS }, () => {
    const output = execFileSync(process.execPath, ['--import', 'tsx', fileURLToPath(import.meta.url), 'restore', url], {
      encoding: 'utf8',
    })
    return JSON.parse(output) as Restored
  })
  return {
    ms: median(runs.map(({ ms }) => ms)),
    cpuMs: median(runs.map(({ cpuMs }) => cpuMs)),
    records: runs[0]?.records ?? 0,
  }
}

async function appendCosts(store: SessionStore): Promise<{ length: number; medianMs: number }[]> {
  const costs: { length: number; medianMs: number }[] = []
  let length = 0
  for (const target of LENGTHS) {
    while (length < target) {
      const batch = Array.from({ length: Math.min(500, target - length) }, (_, i) => message(length + i))
      length = await store.append('t', 'growing', batch)
    }
    const times: number[] = []
    for (let i = 0; i < APPENDS_PER_LENGTH; i++) {
      const record = message(length + 1_000_000)
      const start = performance.now()
      length = await store.append('t', 'growing', [record], length)
      times.push(performance.now() - start)
    }
    costs.push({ length: target, medianMs: median(times) })
  }
  return costs
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

async function measure(name: string, url: string): Promise<boolean> {
  const store = openStore(url)
  await store.append(
    't',
    's',
    Array.from({ length: MESSAGES }, (_, i) => message(i)),
  )
  const bytes = (await store.list('t'))[0]?.bytes ?? 0
  const restored = coldRestore(url)
  const costs = await appendCosts(store)
  const lookup = await lookupCost(store)
  await store.close()
  const growth = (costs.at(-1)?.medianMs ?? 0) / (costs[0]?.medianMs ?? 1)
  console.info(
    `${name}: cold restore of ${restored.records} messages (${(bytes / 1e6).toFixed(1)} MB) ${restored.ms.toFixed(1)} ms (${restored.cpuMs.toFixed(1)} ms of CPU), the SQLite library's own loading included`,
  )
  for (const { length, medianMs } of costs)
    console.info(`${name}: append at ${length} records ${medianMs.toFixed(3)} ms`)
  console.info(`${name}: findEpochs over 1000 hashes ${lookup.toFixed(2)} ms`)
  console.info(`${name}: append grew ${growth.toFixed(2)} times from ${LENGTHS[0]} to ${LENGTHS.at(-1)} records`)
  return (name !== 'sqlite' || Math.min(restored.ms, restored.cpuMs) <= RESTORE_LIMIT_MS) && growth <= GROWTH_LIMIT
}

const [command, argument = ''] = process.argv.slice(2)
if (command === 'restore') {
  await restore(argument)
} else {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-bench-'))
  let good = await measure('sqlite', `sqlite:${join(folder, 'store.db')}`)
  rmSync(folder, { recursive: true })
  if (process.argv.includes('--postgres')) {
    const server = await startPostgres()
    good = (await measure('postgres', server.url)) && good
    await server.stop()
  }
  if (!good) console.error('A limit was missed.')
  process.exitCode = good ? 0 : 1
}

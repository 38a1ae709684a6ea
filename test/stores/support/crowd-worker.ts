import { writeSync } from 'node:fs'
import { isPlimsollError } from '../../../src/core/errors.ts'
import { audit, epoch, item } from '../../../src/testing/session-store/records.ts'
import { openStore } from '../../../src/drivers/open-store.ts'
import { seeded } from './random.ts'

/*
 * One of several processes that work on the same sessions: compare-and-append with retries, plain appends, claims on
 * shared covers, forks. What it was told goes to its output, for the judge.
 */

const [url = '', seedText = '1', name = 'p0', sessionsText = '10', roundsText = '1'] = process.argv.slice(2)
const sessions = Number(sessionsText)
const rounds = Number(roundsText)
const random = seeded(Number(seedText))
const store = openStore(url)

export interface CrowdReport {
  /** Marks that this process wrote, by session, in the order they were acknowledged. */
  readonly marks: Record<string, string[]>
  readonly winners: Record<string, string>
  readonly forks: Record<string, { from: string; version: number }>
  readonly conflicts: number
}

const report = {
  marks: {} as Record<string, string[]>,
  winners: {} as Record<string, string>,
  forks: {} as CrowdReport['forks'],
}
let conflicts = 0
let serial = 0

/** Reads the version, writes on top of it, and tries again when somebody was faster: a lost update would show. */
async function compareAndAppend(session: string): Promise<void> {
  for (;;) {
    const version = await store.version('crowd', session)
    const mark = `${name}:${serial++}:on:${version}`
    try {
      await store.append('crowd', session, [audit(mark)], version)
      ;(report.marks[session] ??= []).push(mark)
      return
    } catch (error) {
      if (!isPlimsollError(error, 'conflict')) throw error
      conflicts++
    }
  }
}

async function plainAppend(session: string): Promise<void> {
  const marks = [`${name}:${serial++}:plain`, `${name}:${serial++}:plain`]
  await store.append('crowd', session, [audit(marks[0] ?? ''), audit(marks[1] ?? ''), item(`${name}-${serial}`)])
  ;(report.marks[session] ??= []).push(...marks)
}

async function claim(session: string, cover: string): Promise<void> {
  const { epoch: winner } = await store.claimEpoch('crowd', session, epoch(`${name}-${serial++}`, cover))
  report.winners[cover] ??= winner.id
  if (report.winners[cover] !== winner.id)
    throw new Error(`${cover} was won by ${report.winners[cover]} and by ${winner.id}.`)
}

async function fork(session: string): Promise<void> {
  const to = `${session}-fork-${name}-${serial++}`
  report.forks[to] = { from: session, version: await store.fork('crowd', session, to) }
}

// The judge lets all processes go at once; without that the first would be done before the last has started.
await store.version('crowd', 's0')
writeSync(1, '"ready"\n')
await new Promise((resolve) => process.stdin.once('data', resolve))
process.stdin.destroy()

for (let round = 0; round < rounds; round++) {
  for (let i = 0; i < sessions; i++) {
    // Every process starts elsewhere, but all of them meet in every session.
    const n = (i + random.below(3)) % sessions
    const session = `s${n}`
    await compareAndAppend(session)
    const dice = random.below(10)
    if (dice < 4) await plainAppend(session)
    else if (dice < 9) await claim(session, `c${n}-${round}`)
    else await fork(session)
  }
}
await store.close()
writeSync(1, `${JSON.stringify({ ...report, conflicts } satisfies CrowdReport)}\n`)

import assert from 'node:assert/strict'
import type { SessionStore } from '../../../src/ports/session-store.ts'
import type { MaintainedStore } from '../../../src/ports/store-maintenance.ts'
import { readAll } from '../../../src/testing/session-store/records.ts'
import type { CrowdReport } from './crowd-worker.ts'
import { startWorker } from './worker-process.ts'

export interface CrowdSize {
  readonly processes: number
  readonly sessions: number
  readonly rounds: number
}

/** `npm run test:crash` sets the full size of 8 processes on 200 sessions. */
export const crowdSize = (): CrowdSize =>
  process.env['PLIMSOLL_CROWD'] === 'full'
    ? { processes: 8, sessions: 200, rounds: 2 }
    : { processes: 8, sessions: 12, rounds: 2 }

/** Lets several processes loose on one store and judges what they left. */
export async function testCrowd(
  url: string,
  open: () => MaintainedStore,
  size: CrowdSize,
  seed: number,
): Promise<string> {
  const workers = Array.from({ length: size.processes }, (_, i) =>
    startWorker(new URL('crowd-worker.ts', import.meta.url), [
      url,
      String(seed + i),
      `p${i}`,
      String(size.sessions),
      String(size.rounds),
    ]),
  )
  let ready = 0
  for (const worker of workers) {
    worker.onLine((line) => {
      if (line === '"ready"' && ++ready === workers.length) for (const { child } of workers) child.stdin.end('go\n')
    })
  }
  const reports = await Promise.all(workers.map(reportOf)).finally(() => {
    // One that failed leaves the others waiting for the start.
    for (const { child } of workers) child.kill('SIGKILL')
  })
  const store = open()
  try {
    const records = await judge(store, reports)
    assert.deepEqual(await store.check(), [])
    const conflicts = reports.reduce((sum, report) => sum + report.conflicts, 0)
    return `${size.processes} processes, ${size.sessions} sessions: ${records} marks, ${conflicts} conflicts retried`
  } finally {
    await store.close()
  }
}

async function reportOf(worker: ReturnType<typeof startWorker>): Promise<CrowdReport> {
  let report: CrowdReport | undefined
  worker.onLine((line) => {
    if (line !== '"ready"') report = JSON.parse(line) as CrowdReport
  })
  const { code, errors } = await worker.done
  if (code !== 0 || report === undefined) throw new Error(`A process failed: ${errors}`)
  return report
}

async function judge(store: SessionStore, reports: readonly CrowdReport[]): Promise<number> {
  let total = 0
  const names = new Set(reports.flatMap(({ marks }) => Object.keys(marks)))
  for (const name of names) {
    const log = await readAll(store, 'crowd', name)
    assert.deepEqual(
      log.map(({ version }) => version),
      log.map((_, i) => i + 1),
      `${name} has gaps`,
    )
    const marks = log.flatMap(({ version, record }) =>
      record.type === 'audit' ? [{ version, mark: record.reason }] : [],
    )
    const expected = reports.flatMap((report) => report.marks[name] ?? [])
    assert.deepEqual(new Set(marks.map(({ mark }) => mark)), new Set(expected), `${name} lost or invented an update`)
    assert.equal(marks.length, expected.length, `${name} has a mark twice`)
    for (const { version, mark } of marks) {
      const on = /:on:(\d+)$/.exec(mark)?.[1]
      if (on !== undefined) assert.equal(version, Number(on) + 1, `${name}: ${mark} overtook an update it had not seen`)
    }
    for (const report of reports) {
      const order = marks.map(({ mark }) => mark).filter((mark) => report.marks[name]?.includes(mark) === true)
      assert.deepEqual(order, report.marks[name] ?? [], `${name} mixed up the order of one writer`)
    }
    total += marks.length
  }
  const covers = new Set(reports.flatMap(({ winners }) => Object.keys(winners)))
  for (const cover of covers) {
    const told = new Set(reports.flatMap(({ winners }) => winners[cover] ?? []))
    const found = await store.findEpochs('crowd', [cover])
    assert.deepEqual(
      [...told],
      found.map(({ epoch }) => epoch.id),
      `${cover} has more than one epoch`,
    )
  }
  for (const [to, { from, version }] of reports.flatMap(({ forks }) => Object.entries(forks))) {
    const [copy, source] = [await readAll(store, 'crowd', to), await readAll(store, 'crowd', from)]
    assert.deepEqual(copy, source.slice(0, version), `${to} is not what ${from} was`)
  }
  return total
}

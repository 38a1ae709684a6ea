import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPlimsoll } from '../src/plimsoll.ts'
import { toolLoop } from '../test/support/anthropic-loop.ts'

/*
 * What a store adds to one request of the gateway: to `prepare`, which the client waits for, and to `record`, which comes after the
 * answer. The same session runs on memory and on SQLite, request by request in turn; the difference is the store.
 */

const REQUESTS = 200
/** The turns that a session has before it is measured. */
const BEFORE = 20
const PAUSE_MS = 2

const median = (numbers: readonly number[]): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0

const folder = mkdtempSync(join(tmpdir(), 'plimsoll-bench-'))
const usage = { input: 1_000, cacheRead: 0, cacheWrite: 0, output: 40, reasoning: 0 }
const { messages, ...envelope } = toolLoop({ steps: BEFORE + REQUESTS, resultLength: 300 })
const lanes = ['memory:', `sqlite:${join(folder, 'store.db')}`].map((store) => {
  const plimsoll = createPlimsoll({ store })
  return { plimsoll, session: plimsoll.session({ id: 'bench' }), prepare: [] as number[], record: [] as number[] }
})

for (let turn = 1; turn <= BEFORE + REQUESTS; turn++) {
  const body = JSON.stringify({ ...envelope, messages: messages.slice(0, 2 * turn - 1) })
  for (const lane of lanes) {
    const start = performance.now()
    const { id } = await lane.session.prepare({
      format: 'anthropic-messages',
      body,
      targets: [{ model: 'claude-sonnet-4-5' }],
    })
    const prepared = performance.now()
    // As the gateway does: the request is on its way before anything else is done.
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    const answered = performance.now()
    await lane.session.record({ turn: id, usage })
    if (turn <= BEFORE) continue
    lane.prepare.push(prepared - start)
    // What held the process up while the model answered counts as well.
    lane.record.push(performance.now() - answered + Math.max(0, answered - prepared - PAUSE_MS))
  }
}
const [memory, sqlite] = lanes.map(({ prepare, record }) => ({ prepare: median(prepare), record: median(record) }))
const added = (part: 'prepare' | 'record'): string => (sqlite![part] - memory![part]).toFixed(2)
console.info(
  `SQLite adds ${added('prepare')} ms before an untouched request leaves (memory ${memory!.prepare.toFixed(2)} ms)`,
)
console.info(`SQLite adds ${added('record')} ms after it (memory ${memory!.record.toFixed(2)} ms)`)
for (const { plimsoll } of lanes) await plimsoll.close()
rmSync(folder, { recursive: true })

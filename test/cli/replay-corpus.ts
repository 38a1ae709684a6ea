/**
 * `replay` with the default policy on every development transcript, in four windows where the session is larger than them.
 * Minutes long, so it is no part of `npm test`:
 *
 *   npm run test:replay [-- --windows 16k,32k] [--folder claude-code]
 *
 * Fails when anything overflowed, was invalid or got lost, and names file, window and numbers. A call may be refused, with the typed
 * error that names the largest parts, only where instructions and tools leave less than a third of what fits.
 */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import type { ReplayResult } from '../../src/lab/replay/replay.ts'
import { filesOf, sharedTranscripts } from '../support/shared-data.ts'
import { BINARY } from './support/binary.ts'

const FOLDERS = [
  'claude-code',
  'codex-rollout',
  'gemini-cli',
  'copilot-cli',
  'pi',
  'cline',
  'openhands',
  'swe-agent',
  'tau-bench',
  'tau2-bench',
  'openai-chat',
]

const FIXED_SHARE = 2 / 3

const { values } = parseArgs({
  options: { windows: { type: 'string', default: '16k,32k,64k,200k' }, folder: { type: 'string' } },
})
const shared = sharedTranscripts()
if (shared === undefined) process.exit(1)

async function* replayed(folder: string): AsyncGenerator<ReplayResult, void, undefined> {
  const args = [BINARY, 'replay', ...filesOf(shared!, folder), '--window', values.windows, '--json']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  for await (const line of createInterface({ input: child.stdout })) yield JSON.parse(line) as ReplayResult
}

function lineOf(folder: string, window: number, results: readonly ReplayResult[]): string {
  const sum = (pick: (result: ReplayResult) => number): number => results.reduce((total, one) => total + pick(one), 0)
  const calls = sum((one) => one.calls)
  const mean = (pick: (result: ReplayResult) => number): string =>
    (sum((one) => pick(one) * one.calls) / Math.max(1, calls)).toFixed(4)
  return (
    `${folder} in ${window}: ${results.length} sessions, ${calls} calls, ${sum((one) => one.epochs)} epochs, ` +
    `quotes ${mean((one) => one.quoteRecall)}, names ${mean((one) => one.nameRecall)}, recoverable ${mean((one) => one.recoverableRecall)}, ` +
    `$${sum((one) => one.costUsd).toFixed(2)} of $${sum((one) => one.unmanagedCostUsd).toFixed(2)}, ` +
    `${sum((one) => one.overflows)} overflows, ${sum((one) => one.invalid)} invalid, ${sum((one) => one.lost)} lost, ${sum((one) => one.refused)} refused`
  )
}

const all = new Map<number, ReplayResult[]>()
let broken = 0
for (const folder of values.folder === undefined ? FOLDERS : [values.folder]) {
  const byWindow = new Map<number, ReplayResult[]>()
  for await (const result of replayed(folder)) {
    byWindow.set(result.window, [...(byWindow.get(result.window) ?? []), result])
    const { file, window, overflows, invalid, lost, refused, fixedLoad, limit } = result
    const isFull = fixedLoad > FIXED_SHARE * limit
    if (refused > 0)
      console.log(`  ${file} in ${window}: ${refused} refused; instructions and tools take ${fixedLoad} of ${limit}`)
    if (overflows + invalid + lost === 0 && (refused === 0 || isFull)) continue
    broken++
    console.log(`  ${file} in ${window}: ${overflows} overflows, ${invalid} invalid, ${lost} lost, ${refused} refused`)
  }
  for (const [window, results] of byWindow) {
    console.log(lineOf(folder, window, results))
    all.set(window, [...(all.get(window) ?? []), ...results])
  }
}
for (const [window, results] of all) console.log(lineOf('all', window, results))
console.log(broken === 0 ? 'Nothing overflowed, was invalid or got lost.' : `${broken} replays broke a promise.`)
process.exitCode = broken === 0 ? 0 : 1

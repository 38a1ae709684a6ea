/**
 * Recall at a price: the default policy on real Claude Code sessions, beside "first + last, cut to 50 % when full" under the
 * same count of tokens and the same prices.
 *
 *   npx tsx bench/recall.ts [--windows 64000,32000] [--folder claude-code] [--model claude-sonnet-4-5] [--files 3]
 *                           [--head 20000]   about so many tokens of instructions and tools in front of each request
 *                           [--times 1,1.12,1.35]  overflows by a provider that counts so many times what o200k does
 *                           [--usage none,reported]  whether answers report that count
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { loadFile } from '../src/formats/transcripts/load.ts'
import type { Recording } from '../src/formats/transcripts/recording.ts'
import { replayRecording, type ReplayResult } from '../src/surfaces/cli/replay/replay-recording.ts'
import { withHead } from './lib/with-head.ts'

const { values } = parseArgs({
  options: {
    windows: { type: 'string', default: '64000,32000' },
    folder: { type: 'string', default: 'claude-code' },
    model: { type: 'string', default: 'claude-sonnet-4-5' },
    files: { type: 'string' },
    head: { type: 'string', default: '0' },
    times: { type: 'string', default: '1.12' },
    usage: { type: 'string', default: 'none,reported' },
  },
})
const shared = process.env['PLIMSOLL_SHARED'] ?? resolve(import.meta.dirname, '../../shared')
const folder = join(shared, 'data/transcripts', values.folder)
if (!existsSync(folder))
  throw new Error(`${folder} is absent. Set PLIMSOLL_SHARED to the folder that holds data/transcripts.`)

const recordings: Recording[] = []
for (const name of readdirSync(folder)
  .sort()
  .slice(0, values.files === undefined ? undefined : Number(values.files))) {
  const { recordings: found } = await loadFile(join(folder, name), {
    resend: 'everything',
    thinking: 'drop',
    parallel: 'as-written',
  })
  recordings.push(...found.map((recording) => withHead(recording, Number(values.head))))
}
const runs = values.windows
  .split(',')
  .flatMap((window) =>
    values.times
      .split(',')
      .flatMap((times) =>
        values.usage.split(',').map((usage) => ({ window: Number(window), times: Number(times), usage })),
      ),
  )
for (const { window, times, usage } of runs) {
  const results: ReplayResult[] = []
  for (const recording of recordings)
    results.push(
      await replayRecording(recording, {
        window,
        policy: 'plimsoll',
        model: values.model,
        reference: times,
        reportsUsage: usage === 'reported',
      }),
    )
  const sum = (pick: (result: ReplayResult) => number): number =>
    results.reduce((total, result) => total + pick(result), 0)
  const calls = sum((result) => result.calls)
  const mean = (pick: (result: ReplayResult) => number): string =>
    (sum((result) => pick(result) * result.calls) / calls).toFixed(4)
  const hash = createHash('sha256')
  for (const { requestsHash } of results) hash.update(requestsHash)
  console.log(
    `${window}, o200k × ${times}, usage ${usage}: quote ${mean((r) => r.quoteRecall)} name ${mean((r) => r.nameRecall)} recoverable ${mean((r) => r.recoverableRecall)} ` +
      `$${sum((r) => r.costUsd).toFixed(1)} of $${sum((r) => r.unmanagedCostUsd).toFixed(1)} unmanaged, ${sum((r) => r.epochs)} epochs, ` +
      `${sum((r) => r.overflows)} overflows, ${sum((r) => r.refused)} refused, ${sum((r) => r.invalid)} invalid, ${sum((r) => r.lost)} lost, ${calls} calls, ` +
      `${Math.round(sum((r) => r.ms) / 1000)} s, requests ${hash.digest('hex').slice(0, 16)}`,
  )
}

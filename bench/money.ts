/**
 * What a session costs by the recorded clock, under the provider's cache prices and lifetimes: unmanaged (as if there were no window), with `room`
 * and with `thrift`, in fixed smaller windows, under each preset, and under a planner that knows the future. Beside each price stands what it
 * costs in quality: what the next answers quote and name, the task, and the prose of both sides.
 *
 *   npx tsx bench/money.ts [--folders claude-code] [--files 9b,cd] [--windows 200000,1000000] [--models claude-sonnet-4-5,gpt-5.6]
 *                          [--aims room,thrift] [--fixed 48000,64000,96000,128000] [--policies contextguard,…] [--each]
 *                          [--predictions]   only: predictions of cold caches against the usage that the recordings have
 */
import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Aim } from '../src/core/policy.ts'
import { type PriceModel, ratesFor } from '../src/core/price.ts'
import { DEFAULT_LIFE } from '../src/core/cache.ts'
import { bundledCatalogue } from '../src/drivers/catalogue/bundled.ts'
import { policies as presets } from '../src/engine/presets/index.ts'
import { type ReplayedSession, replaySession } from '../src/lab/replay/replay.ts'
import { loadFile } from '../src/lab/transcripts/load.ts'
import type { Recording } from '../src/lab/transcripts/recording.ts'
import { createMeter } from '../src/meter/index.ts'
import { sayPredictions } from './lib/predictions.ts'

const { values } = parseArgs({
  options: {
    folders: { type: 'string', default: 'claude-code' },
    files: { type: 'string' },
    windows: { type: 'string', default: '200000,1000000' },
    models: { type: 'string', default: 'claude-sonnet-4-5,gpt-5.6' },
    aims: { type: 'string', default: 'room,thrift' },
    fixed: { type: 'string', default: '48000,64000,96000,128000' },
    policies: { type: 'string', default: [...presets.keys()].filter((name) => name !== 'plimsoll').join(',') },
    each: { type: 'boolean', default: false },
    predictions: { type: 'boolean', default: false },
  },
})
const shared = process.env['PLIMSOLL_SHARED'] ?? resolve(import.meta.dirname, '../../shared')
const catalogue = bundledCatalogue()
const meter = createMeter({ catalogue })
const listed = (text: string): string[] => text.split(',').filter((one) => one !== '')

async function load(parallel: 'as-written' | 'merged', resend: 'everything' | 'recorded'): Promise<Recording[]> {
  const all: Recording[] = []
  for (const folder of listed(values.folders)) {
    const path = join(shared, 'data/transcripts', folder)
    if (!existsSync(path))
      throw new Error(`${path} is absent. Set PLIMSOLL_SHARED to the folder that holds data/transcripts.`)
    for (const name of readdirSync(path).sort()) {
      if (
        name === 'README.md' ||
        (values.files !== undefined && !listed(values.files).some((part) => name.includes(part)))
      )
        continue
      const { recordings } = await loadFile(join(path, name), { resend, thinking: 'drop', parallel })
      all.push(...recordings.filter(({ calls }) => calls.length > 0))
    }
  }
  return all
}

/** So large that nothing is ever taken out: what everything costs, counted as what we send is. */
const NO_WINDOW = 100_000_000

interface Run {
  readonly unmanagedUsd: number
  readonly session: ReplayedSession
  readonly taskKept: number
}

const unmanaged = new Map<string, number>()
async function unmanagedUsd(recording: Recording, model: string): Promise<number> {
  const key = `${model} ${recording.file} ${recording.name ?? ''}`
  const known = unmanaged.get(key)
  if (known !== undefined) return known
  const options = { window: NO_WINDOW, policy: 'plimsoll', model, clock: true, readers: false, aim: 'room' } as const
  const { result } = await replaySession(recording, options)
  unmanaged.set(key, result.costUsd)
  return result.costUsd
}

async function run(recording: Recording, model: string, window: number, policy: string, aim?: Aim): Promise<Run> {
  let kept = 0
  let compactions = 0
  const session = await replaySession(recording, {
    window,
    policy,
    aim,
    model,
    clock: true,
    onCompaction({ before, after }) {
      const task = before.find(({ kind }) => kind === 'user')
      compactions++
      if (task === undefined || after.some(({ text }) => text.includes(task.text))) kept++
    },
  })
  return {
    session,
    unmanagedUsd: await unmanagedUsd(recording, model),
    taskKept: compactions === 0 ? 1 : kept / compactions,
  }
}

const HEAD = ['$', 'ratio', 'worst', 'compact', 'cold', 'quote', 'name', 'recov', 'task', 'user', 'assist', 'over']
const row = (name: string, cells: readonly string[]): string =>
  `${name.padEnd(34)}${cells.map((cell) => cell.padStart(8)).join('')}`

function figures(runs: readonly Run[]): readonly string[] {
  const sum = (pick: (run: Run) => number): number => runs.reduce((total, one) => total + pick(one), 0)
  const calls = sum(({ session }) => session.result.calls)
  const byCall = (pick: (run: Run) => number): string =>
    (sum((one) => pick(one) * one.session.result.calls) / calls).toFixed(3)
  const made = sum(({ session }) => session.result.handover.compactions)
  const byCompaction = (pick: (run: Run) => number): string =>
    made === 0 ? '–' : (sum((one) => pick(one) * one.session.result.handover.compactions) / made).toFixed(3)
  const cost = sum(({ session }) => session.result.costUsd)
  const ratios = runs.map((one) => one.session.result.costUsd / one.unmanagedUsd)
  return [
    cost.toFixed(2),
    (cost / sum((one) => one.unmanagedUsd)).toFixed(3),
    Math.max(...ratios).toFixed(2),
    String(sum(({ session }) => session.result.epochs)),
    String(sum(({ session }) => session.result.coldCalls)),
    byCall(({ session }) => session.result.quoteRecall),
    byCall(({ session }) => session.result.nameRecall),
    byCall(({ session }) => session.result.recoverableRecall),
    byCompaction(({ taskKept }) => taskKept),
    byCompaction(({ session }) => session.result.handover.userKept),
    byCompaction(({ session }) => session.result.handover.assistantKept),
    String(sum(({ session }) => session.result.overflows + session.result.refused)),
  ]
}

/** A session as the planner sees it: how long the prompt is at each call, what stands in front of it, and where the cache is cold. */
interface Course {
  readonly tokens: readonly number[]
  readonly fixed: number
  readonly isCold: readonly boolean[]
}

function courseOf(recording: Recording, model: string, price: PriceModel): Course {
  const sizes = recording.messages.map(({ parts }) =>
    parts.reduce((sum, { text }) => sum + meter.countText(model, text).tokens, 0),
  )
  const fixed = recording.system === undefined ? 0 : meter.countText(model, recording.system).tokens
  const sums = [fixed]
  for (const size of sizes) sums.push(sums.at(-1)! + size)
  const { least } = price.cacheLife ?? DEFAULT_LIFE
  const isCold = recording.calls.map(({ at }, i) => {
    const before = recording.calls[i - 1]?.at
    return at !== undefined && before !== undefined && (at - before) / 1_000 > least
  })
  return { tokens: recording.calls.map(({ to }) => sums[to]!), fixed, isCold }
}

/** Input dollars of the calls from one compaction (or the start) to the next, when the first of them leaves with `first` tokens. */
function* stretch(
  { tokens, fixed, isCold }: Course,
  from: number,
  first: number,
  most: number,
  price: PriceModel,
): Generator<number> {
  let cost = 0
  let before = from === 0 ? 0 : Math.min(fixed, first)
  for (let i = from; i < tokens.length; i++) {
    const size = first + tokens[i]! - tokens[from]!
    if (size > most && i > from) return
    const { input, cacheRead = input, cacheWrite = input } = ratesFor(size, price)
    const read = isCold[i] === true ? 0 : Math.min(before, size)
    cost += (read * cacheRead + (size - read) * cacheWrite) / 1_000_000
    before = size
    yield cost
  }
}

/** The least that the session can cost if each compaction leaves `after` tokens, and what these moments cost under the same arithmetic. */
function planned(
  course: Course,
  after: number,
  most: number,
  price: PriceModel,
  moments: readonly number[],
): { best: number; own: number } {
  const { tokens } = course
  const first = (from: number): number => (from === 0 ? tokens[0]! : Math.min(tokens[from]!, after))
  const best = Array.from({ length: tokens.length + 1 }, () => Infinity)
  best[0] = 0
  for (let from = 0; from < tokens.length; from++) {
    if (best[from] === Infinity) continue
    let to = from
    for (const cost of stretch(course, from, first(from), most, price)) {
      to++
      best[to] = Math.min(best[to]!, best[from]! + cost)
    }
  }
  const cuts = [0, ...moments.filter((at) => at > 0), tokens.length]
  let own = 0
  for (let i = 0; i + 1 < cuts.length; i++) {
    const costs = [...stretch(course, cuts[i]!, first(cuts[i]!), Infinity, price)]
    own += costs[cuts[i + 1]! - cuts[i]! - 1] ?? 0
  }
  return { best: best[tokens.length]!, own }
}

/** How near the moments of these runs come to those of a planner that knows the future, with records of the same size. */
function beside(recordings: readonly Recording[], runs: readonly Run[], model: string, window: number): string {
  const price = catalogue.resolve(model).info.price!
  let [best, own, left, all, guessed] = [0, 0, 0, 0, 0]
  recordings.forEach((recording, i) => {
    const { epochs } = runs[i]!.session
    const sizes = epochs.map(({ after }) => after)
    const after = sizes.length === 0 ? window / 2 : sizes.reduce((sum, size) => sum + size, 0) / sizes.length
    const plan = planned(
      courseOf(recording, model, price),
      after,
      window,
      price,
      epochs.map(({ call }) => call),
    )
    best += plan.best
    own += plan.own
    for (const { call, price: quote } of epochs) {
      if (quote === undefined) continue
      all++
      left += recording.calls.length - call
      guessed += quote.expectedCalls
    }
  })
  const guess = all === 0 ? '' : `; calls left: guessed ${Math.round(guessed / all)}, came ${Math.round(left / all)}`
  return `    a planner that knows the future: $${best.toFixed(2)}, these moments $${own.toFixed(2)}, ${(own / best).toFixed(2)} times${guess}`
}

async function compare(recordings: readonly Recording[], model: string): Promise<void> {
  const show = async (name: string, window: number, policy: string, aim?: Aim): Promise<void> => {
    const runs: Run[] = []
    for (const recording of recordings) runs.push(await run(recording, model, window, policy, aim))
    console.info(row(`  ${name}`, figures(runs)))
    if (policy === 'plimsoll') console.info(beside(recordings, runs, model, window))
    if (!values.each) return
    for (const { session, unmanagedUsd: all } of runs) {
      const { file, costUsd, epochs, quoteRecall } = session.result
      const price = `$${costUsd.toFixed(2)}, ${(costUsd / all).toFixed(3)}`
      console.info(
        `    ${file.split('/').at(-1) ?? ''}: ${price}, ${epochs} compactions, quotes ${quoteRecall.toFixed(3)}`,
      )
    }
  }
  for (const window of listed(values.windows).map(Number)) {
    console.info(row(`${model}, ${window} tokens`, HEAD))
    for (const aim of listed(values.aims) as Aim[]) await show(aim, window, 'plimsoll', aim)
    for (const policy of listed(values.policies)) await show(policy, window, policy)
  }
  console.info(row(`${model}, fixed windows`, HEAD))
  for (const window of listed(values.fixed).map(Number)) await show(`${window / 1_000}k`, window, 'plimsoll', 'room')
}

if (values.predictions) {
  sayPredictions(await load('merged', 'recorded'), catalogue, values.each)
} else {
  const recordings = await load('as-written', 'everything')
  const calls = recordings.reduce((sum, recording) => sum + recording.calls.length, 0)
  const cold = recordings.reduce(
    (sum, recording) =>
      sum +
      courseOf(recording, 'claude-sonnet-4-5', catalogue.resolve('claude-sonnet-4-5').info.price!).isCold.filter(
        Boolean,
      ).length,
    0,
  )
  console.info(
    `${recordings.length} sessions, ${calls} calls, ${cold} of them later than five minutes after the one before`,
  )
  for (const model of listed(values.models)) await compare(recordings, model)
}

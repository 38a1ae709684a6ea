/**
 * What a compaction keeps, and at what price: a policy on recorded sessions, beside two simple managers under the same count of tokens and the
 * same prices: "first + last, cut to 50 % when full", and the yardstick of the record (all prose, a line for each call, the newest results).
 *
 *   npx tsx bench/recall.ts [--windows 64000,32000] [--folders claude-code,pi] [--policies plimsoll,contextguard] [--files 3|9b,cd]
 *                           [--model claude-sonnet-4-5] [--dump folder]   every record as a file, to be read
 *                           [--head 20000]   about so many tokens of instructions and tools in front of each request
 *                           [--times 1,1.12,1.35]  overflows by a provider that counts so many times what o200k does
 *                           [--usage none,reported]  whether answers report that count
 *                           [--parts]  what each part of the records takes, and what only it kept of what answers needed
 *                           [--measures]  only constraints, replaced values, and facts beside Claude Code's own summaries
 *                           [--write]  the tables of these folders in bench/figures/handover-tables.md; with --files, beside those of all sessions
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { loadFile } from '../src/lab/transcripts/load.ts'
import type { Part, Recording } from '../src/lab/transcripts/recording.ts'
import { createMeter } from '../src/meter/index.ts'
import { knownModels } from '../src/cli/catalogue.ts'
import type { Compaction } from '../src/lab/replay/handover.ts'
import { type ReplayResult, replaySession } from '../src/lab/replay/replay.ts'
import { measure, sessionOf, type Session } from './baselines.ts'
import { referenceProvider } from './lib/reference-provider.ts'
import { writeHandoverTables, type HandoverTable } from './lib/handover-page.ts'
import { besideSummaries, constraintsKept, replacedMarked } from './lib/record-measures.ts'
import { PartWorths } from './lib/record-parts.ts'
import { withHead } from './lib/with-head.ts'
import { firstAndLast, proseAndNewest } from './simple-managers.ts'

const { values } = parseArgs({
  options: {
    windows: { type: 'string', default: '64000,32000' },
    folders: { type: 'string', default: 'claude-code' },
    policies: { type: 'string', default: 'plimsoll' },
    model: { type: 'string', default: 'claude-sonnet-4-5' },
    files: { type: 'string' },
    head: { type: 'string', default: '0' },
    dump: { type: 'string' },
    times: { type: 'string', default: '1.12' },
    usage: { type: 'string', default: 'none,reported' },
    parts: { type: 'boolean', default: false },
    measures: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
})
const shared = process.env['PLIMSOLL_SHARED'] ?? resolve(import.meta.dirname, '../../shared')
const counter = createMeter({ catalogue: knownModels() })
const counts = new Map<string, number>()
/** As the replay counts what it prices. */
const count = (text: string): number => {
  const tokens = counts.get(text) ?? counter.countText(values.model, text).tokens
  counts.set(text, tokens)
  return tokens
}

/** As the replay counts an item: a manager that counted less would have more room than the engine, and a lower price. */
const countPart = ({ kind, text, callId, toolName }: Part): number =>
  counter.countItem(values.model, {
    id: '',
    kind,
    role: kind === 'user' || kind === 'result' ? 'user' : 'assistant',
    message: 0,
    text,
    ...(callId !== undefined && { callId }),
    ...(toolName !== undefined && { toolName }),
  }).tokens

/** `--files 3` are the first three; `--files 9b,cd` those with one of these in their name. */
function chosen(names: readonly string[]): readonly string[] {
  const { files } = values
  if (files === undefined) return names
  if (/^\d$/.test(files)) return names.slice(0, Number(files))
  return names.filter((name) => files.split(',').some((part) => name.includes(part)))
}

async function load(folder: string): Promise<readonly Recording[]> {
  const path = join(shared, 'data/transcripts', folder)
  if (!existsSync(path))
    throw new Error(`${path} is absent. Set PLIMSOLL_SHARED to the folder that holds data/transcripts.`)
  const names = readdirSync(path).sort()
  const recordings: Recording[] = []
  for (const name of chosen(names)) {
    const { recordings: found } = await loadFile(join(path, name), {
      resend: 'everything',
      thinking: 'drop',
      parallel: 'as-written',
    })
    recordings.push(...found.filter(({ calls }) => calls.length > 0))
  }
  return recordings
}

const HEAD = [
  'quote',
  'name',
  'recov',
  'user',
  'assist',
  'alone',
  'gaps',
  'calls',
  'plan',
  'edits',
  'false',
  'again',
  'task',
  'price',
  'of f+l',
  'epochs',
]
const WRITTEN = [
  'quote',
  'name',
  'recoverable',
  'user',
  'assistant',
  'alone',
  'gaps',
  'calls',
  'plan',
  'edits',
  'false outcomes',
  'tokens again',
  'task',
  'price',
  'of first + last',
  'compactions',
  'too long',
  'refused',
]
const dollars = (value: number): string => `$${value.toFixed(value < 10 ? 2 : 1)}`
const three = (value: number): string => value.toFixed(3)
const row = (name: string, cells: readonly string[]): string =>
  `${name.padEnd(42)}${cells.map((cell) => cell.padStart(7)).join('')}`

interface PolicyRun {
  readonly result: ReplayResult
  readonly taskKept: number
}

/** A provider: how it counts, and whether it says so. */
interface Provider {
  readonly reference: number
  readonly reportsUsage: boolean
}

const providers: readonly Provider[] = values.times
  .split(',')
  .flatMap((times) =>
    values.usage.split(',').map((usage) => ({ reference: Number(times), reportsUsage: usage === 'reported' })),
  )

async function runPolicy(
  recording: Recording,
  window: number,
  policy: string,
  provider: Provider,
  label: string,
  worths: PartWorths,
): Promise<PolicyRun> {
  let kept = 0
  const compactions: (Compaction & { readonly call: number })[] = []
  const { result } = await replaySession(withHead(recording, Number(values.head)), {
    window,
    policy,
    model: values.model,
    provider: await referenceProvider(provider.reference, provider.reportsUsage),
    onCompaction(compaction) {
      const { before, after, inserted, call } = compaction
      const task = before.find(({ kind }) => kind === 'user')
      compactions.push(compaction)
      if (task === undefined || after.some(({ text }) => text.includes(task.text))) kept++
      if (values.dump === undefined) return
      mkdirSync(values.dump, { recursive: true })
      writeFileSync(join(values.dump, `${label}-${window}-call${call}.txt`), inserted.join('\n\n=====\n\n'))
    },
  })
  if (values.parts) worths.add(recording, compactions, count)
  return { result, taskKept: compactions.length === 0 ? 1 : kept / compactions.length }
}

interface PolicyFigures {
  readonly cells: readonly string[]
  /** Requests that were too long for the provider, and calls that were refused. */
  readonly faults: readonly string[]
  readonly rest: string
}

function figuresOf(runs: readonly PolicyRun[], firstLastUsd: number): PolicyFigures {
  const sum = (pick: (run: PolicyRun) => number): number => runs.reduce((total, run) => total + pick(run), 0)
  const calls = sum(({ result }) => result.calls)
  const byCall = (pick: (result: ReplayResult) => number): string =>
    three(sum(({ result }) => pick(result) * result.calls) / calls)
  const compactions = sum(({ result }) => result.handover.compactions)
  const byCompaction = (pick: (run: PolicyRun) => number): string =>
    compactions === 0 ? '–' : three(sum((run) => pick(run) * run.result.handover.compactions) / compactions)
  const total = (pick: (result: ReplayResult) => number): number => sum(({ result }) => pick(result))
  // Over all bytes that left: two runs print the same.
  const hash = createHash('sha256')
  for (const { result } of runs) hash.update(result.requestsHash)
  return {
    cells: [
      byCall((r) => r.quoteRecall),
      byCall((r) => r.nameRecall),
      byCall((r) => r.recoverableRecall),
      byCompaction(({ result }) => result.handover.userKept),
      byCompaction(({ result }) => result.handover.assistantKept),
      byCompaction(({ result }) => result.handover.linesAlone),
      byCompaction(({ result }) => result.handover.gapMarks),
      byCompaction(({ result }) => result.handover.callsWithArgument),
      byCompaction(({ result }) => result.handover.openItems),
      byCompaction(({ result }) => result.handover.editsWithChange),
      String(total((r) => r.handover.falseOutcomes)),
      `${Math.round(total((r) => r.fetchedAgain.tokens) / 1_000)}k`,
      byCompaction(({ taskKept }) => taskKept),
      dollars(total((r) => r.costUsd)),
      (total((r) => r.costUsd) / firstLastUsd).toFixed(2),
      String(total((r) => r.epochs)),
    ],
    faults: [String(total((r) => r.overflows)), String(total((r) => r.refused))],
    rest:
      `${total((r) => r.overflows)} overflows, ${total((r) => r.invalid)} invalid, ${total((r) => r.lost)} lost, ${total((r) => r.refused)} refused; ` +
      `${calls} calls, $${total((r) => r.unmanagedCostUsd).toFixed(1)} unmanaged, ${Math.round(total((r) => r.ms) / 1000)} s; requests ${hash.digest('hex').slice(0, 16)}`,
  }
}

async function printMeasures(): Promise<void> {
  for (const window of values.windows.split(',').map(Number)) {
    const kept = [...(await constraintsKept(window))].map(([position, share]) => `${position} ${three(share)}`)
    console.log(`${window} tokens: constraints word for word: ${kept.join(', ')}`)
    const { marked, falsely } = await replacedMarked(window)
    console.log(`${window} tokens: replaced values marked ${three(marked)}; marked without a reason: ${falsely}`)
  }
  for (const line of await besideSummaries(join(shared, 'data/transcripts/claude-code'), count)) console.log(line)
}

if (values.measures) await printMeasures()
for (const folder of values.measures ? [] : values.folders.split(',')) {
  const recordings = await load(folder)
  const sessions: Session[] = recordings.map((recording) => sessionOf(recording, { count, perCall: 0, countPart }))
  const tables: HandoverTable[] = []
  for (const window of values.windows.split(',').map(Number)) {
    console.log(row(`${folder}, ${window} tokens`, HEAD))
    const rows: (readonly string[])[] = []
    const say = (name: string, cells: readonly string[], faults: readonly string[]): void => {
      console.log(row(`  ${name}`, cells))
      rows.push([name, ...cells, ...faults])
    }
    const { costUsd: firstLastUsd } = measure(firstAndLast, window, Number(values.head), sessions, count)
    for (const manager of [firstAndLast, proseAndNewest]) {
      const { recall, costUsd, taskKept, over } = measure(manager, window, Number(values.head), sessions, count)
      const none = Array.from({ length: 9 }, () => '')
      const shares = [three(recall.quoteRecall), three(recall.nameRecall), '']
      const prices = [dollars(costUsd), (costUsd / firstLastUsd).toFixed(2), '']
      say(manager.name, [...shares, ...none, three(taskKept), ...prices], [String(over), ''])
    }
    for (const policy of values.policies.split(',').filter((name) => name !== '')) {
      for (const provider of providers) {
        const runs: PolicyRun[] = []
        const worths = new PartWorths()
        for (const [i, recording] of recordings.entries())
          runs.push(await runPolicy(recording, window, policy, provider, `${folder}-${i}-${policy}`, worths))
        const { cells, faults, rest } = figuresOf(runs, firstLastUsd)
        const usage = provider.reportsUsage ? 'usage' : 'no usage'
        const times = providers.some(({ reference }) => reference !== provider.reference)
          ? `, × ${provider.reference}`
          : ''
        say(`${policy}${times}, ${usage}`, cells, faults)
        console.log(`    ${rest}`)
        if (values.parts) for (const line of worths.rows()) console.log(line)
      }
    }
    tables.push({ window, rows })
  }
  const calls = recordings.reduce((sum, recording) => sum + recording.calls.length, 0)
  if (values.write) {
    const part = values.files === undefined ? '' : ` (\`--files ${values.files}\`)`
    const about = `${recordings.length} sessions, ${calls} calls${part}.`
    writeHandoverTables(folder, values.files !== undefined, about, tables, WRITTEN)
  }
}

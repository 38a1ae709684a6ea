/**
 * The first `prepare` of 1,000 messages beside an exact count of the same messages by tokenizers from npm. Every figure is the median of
 * processes of their own, which take turns; milliseconds of processor time, compiling and collecting included.
 *
 *   npm run bench:cold                 installs the tokenizers that are no dependency into bench/.peers on first use
 *   npm run bench:cold -- --runs 9
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bodies, ColdRun } from './lib/cold-run.ts'
import { NPM_EXACT_NAMES } from './lib/contenders.ts'
import { loadCorpus } from './lib/corpus.ts'
import { incident, type ChatMessage } from './lib/incident.ts'
import { sharedData } from './lib/shared.ts'
import { row, title } from './lib/table.ts'
import { installTokenizerPeers, TOKENIZER_PEERS } from './lib/tokenizer-peers.ts'

const MESSAGES = 1_000
const MESSAGE_CHARS = 740
const WARM_UPS = 4
const OURS = ['prepare', 'prepare, archived meanwhile'] as const
const isOurs = (name: string): boolean => name.startsWith('prepare')
const FAR_BEHIND = 3
const asked = process.argv.indexOf('--runs')
const runs = asked < 0 ? 5 : Number(process.argv[asked + 1])

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!
const bodyOf = (messages: readonly ChatMessage[]): string =>
  JSON.stringify({ model: 'gpt-4.1', max_tokens: 1_000, messages })

function bodiesOf(conversation: (index: number) => readonly ChatMessage[]): Bodies {
  return {
    small: bodyOf([{ role: 'user', content: 'Find out why checkout is slow.' }]),
    large: bodyOf(conversation(0)),
    others: Array.from({ length: WARM_UPS }, (_, i) => bodyOf(conversation(i + 1))),
  }
}

/** Pieces of recorded tool results and conversations; no text is in two conversations. */
function recorded(data: string): (index: number) => ChatMessage[] {
  const texts = loadCorpus(data).flatMap(({ text }) => [
    text.slice(0, MESSAGE_CHARS),
    ...(text.length > MESSAGE_CHARS * 2 ? [text.slice(MESSAGE_CHARS, MESSAGE_CHARS * 2)] : []),
  ])
  const every = WARM_UPS + 1
  return (index) =>
    texts
      .filter((_, i) => i % every === index)
      .slice(0, MESSAGES)
      .map((content, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content }))
}

interface Times {
  readonly load: number
  /** The first request of its size in a process. */
  readonly fresh: number
  /** New text, by code that has done the same before. */
  readonly warm: number
}

const PARTS: readonly (readonly [string, (times: Times) => number])[] = [
  ['fresh', ({ fresh }) => fresh],
  ['with loading', ({ load, fresh }) => load + fresh],
  ['code warm', ({ warm }) => warm],
]

/** What is measured is loaded as a program loads it: without the loader that translates the bench. */
const CHILD = `
import { register } from 'tsx/esm/api'
const unregister = register()
const { timeCold } = await import('./lib/cold-run.ts')
await unregister()
console.log(JSON.stringify(await timeCold(...process.argv.slice(1))))
process.exit()`

function timesOf(names: readonly string[], bodies: Bodies, folder: string): Map<string, Times> {
  const file = join(folder, 'bodies.json')
  writeFileSync(file, JSON.stringify(bodies))
  const run = (name: string, state: string): ColdRun => {
    const flags = ['--input-type=module', '--eval', CHILD, name, file, state]
    return JSON.parse(execFileSync(process.execPath, flags, { cwd: import.meta.dirname, encoding: 'utf8' })) as ColdRun
  }
  const taken = new Map(names.map((name) => [name, [] as { readonly fresh: ColdRun; readonly warm: ColdRun }[]]))
  let left = names
  for (let i = 0; i < runs; i++) {
    for (const name of left) taken.get(name)!.push({ fresh: run(name, 'fresh'), warm: run(name, 'warm') })
    const fastest = Math.min(...[...taken.values()].map(([first]) => first!.fresh.time))
    // One run is enough of what is far behind.
    left = names.filter((name) => isOurs(name) || taken.get(name)![0]!.fresh.time < fastest * FAR_BEHIND)
  }
  return new Map(
    names.map((name) => {
      const own = taken.get(name)!
      const load = median(own.flatMap(({ fresh, warm }) => [fresh.load, warm.load]))
      return [name, { load, fresh: median(own.map((r) => r.fresh.time)), warm: median(own.map((r) => r.warm.time)) }]
    }),
  )
}

function report(what: string, bodies: Bodies, names: readonly string[], folder: string): void {
  title(`${what}, ${bodies.large.length.toLocaleString('en')} characters; medians of ${runs} processes, CPU ms`)
  row('', ['load', 'fresh', 'both', 'code warm'])
  const times = timesOf([...OURS, ...names], bodies, folder)
  for (const [name, { load, fresh, warm }] of times)
    row(name, [load.toFixed(0), fresh.toFixed(1), (load + fresh).toFixed(0), warm.toFixed(1)])
  for (const [part, of] of PARTS) {
    const fastest = names.toSorted((a, b) => of(times.get(a)!) - of(times.get(b)!))[0]!
    const shares = OURS.map((name) => `${name} ${(of(times.get(name)!) / of(times.get(fastest)!)).toFixed(2)} x`)
    console.log(`  ${part}: the fastest is ${fastest}; ${shares.join(', ')} (wanted: at most 1.5)`)
  }
}

installTokenizerPeers()
const folder = mkdtempSync(join(tmpdir(), 'plimsoll-cold-'))
try {
  const names = [...NPM_EXACT_NAMES, ...TOKENIZER_PEERS]
  const data = sharedData()
  if (data === undefined) console.warn('The shared data is not there: recorded text is not measured.')
  else report('1,000 messages of recorded text', bodiesOf(recorded(data)), names, folder)
  report(
    '1,000 messages of a generated history',
    bodiesOf((i) => incident(MESSAGES, 7 + i)),
    names,
    folder,
  )
} finally {
  rmSync(folder, { recursive: true })
}

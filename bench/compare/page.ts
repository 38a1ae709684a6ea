import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Figures, Runner } from './measure.ts'
import { SIZES, type Growth } from './growth.ts'
import { scatter } from './plot.ts'

export interface Result {
  readonly window: number
  readonly runner: Pick<Runner, 'name' | 'setup' | 'from'>
  readonly figures: Figures
}

interface About {
  readonly sessions: number
  readonly calls: number
}

/** Everything that one run of the bench found. */
export interface Run extends About {
  readonly results: readonly Result[]
  readonly growth?: readonly Growth[]
}

const share = (value: number): string => `${(100 * value).toFixed(1)} %`

interface Column {
  readonly head: string
  readonly of: (figures: Figures, unmanaged: Figures | undefined) => string
  /** What is compared; more is better unless `less`. Absent: not a virtue. */
  readonly value?: (figures: Figures) => number
  readonly less?: boolean
  readonly words?: string
}

const COLUMNS: readonly Column[] = [
  { head: 'too long', of: ({ overflows }) => String(overflows) },
  { head: 'invalid', of: ({ invalid }) => String(invalid) },
  { head: 'refused', of: ({ refused }) => String(refused) },
  {
    head: 'task in view',
    of: ({ taskKept }) => share(taskKept),
    value: ({ taskKept }) => taskKept,
    words: 'keeps the task in view more often',
  },
  {
    head: 'prose in view',
    of: ({ proseKept }) => share(proseKept),
    value: ({ proseKept }) => proseKept,
    words: 'keeps more of what was said',
  },
  {
    head: 'quotes in view',
    of: ({ quoteRecall }) => share(quoteRecall),
    value: ({ quoteRecall }) => quoteRecall,
    words: 'keeps more of the lines that the next answer repeats',
  },
  {
    head: 'names in view',
    of: ({ nameRecall }) => share(nameRecall),
    value: ({ nameRecall }) => nameRecall,
    words: 'keeps more of the names that the next answer uses',
  },
  { head: 'recoverable', of: ({ recoverableRecall }) => share(recoverableRecall) },
  {
    head: 'price',
    of: ({ costUsd }, unmanaged) =>
      `$${costUsd.toFixed(2)}${unmanaged === undefined ? '' : ` (${Math.round((100 * costUsd) / unmanaged.costUsd)} %)`}`,
    value: ({ costUsd }) => costUsd,
    less: true,
    words: 'costs less',
  },
  {
    head: 'ms per call',
    of: ({ ms, msP95 }) => `${ms.toFixed(1)} (${msP95.toFixed(0)})`,
    value: ({ ms }) => ms,
    less: true,
    words: 'takes less time per call',
  },
]

const OURS = 'Plimsoll'
const NONE = 'no management'

/** Only somebody who could have been used counts: a request that the provider refuses is no achievement. */
const isUsable = ({ overflows, invalid, calls }: Figures): boolean => overflows + invalid <= calls / 100

function better(results: readonly Result[], window: number): readonly string[] {
  const here = results.filter((result) => result.window === window)
  const ours = here.find(({ runner }) => runner.name === OURS)?.figures
  if (ours === undefined) return []
  return COLUMNS.flatMap(({ value, less = false, words = '', head, of }) => {
    if (value === undefined) return []
    const ahead = here
      .filter(({ runner, figures }) => runner.name !== OURS && runner.name !== NONE && isUsable(figures))
      .filter(({ figures }) => (less ? value(figures) < value(ours) : value(figures) > value(ours)))
      .map(({ runner, figures }) => `${runner.name} (${of(figures, undefined)})`)
    return ahead.length === 0
      ? []
      : [`- **${words}** than Plimsoll (${head}: ${of(ours, undefined)}): ${ahead.join(', ')}.`]
  })
}

const windowName = (window: number): string => `${window / 1000}k`

function rows(results: readonly Result[], window: number): readonly (readonly string[])[] {
  const here = results.filter((result) => result.window === window)
  const unmanaged = here.find(({ runner }) => runner.name === NONE)?.figures
  return here.map(({ runner, figures }) => [runner.name, ...COLUMNS.map(({ of }) => of(figures, unmanaged))])
}

const heads = ['', ...COLUMNS.map(({ head }) => head)]

export function printTable({ results, growth = [], sessions, calls }: Run): void {
  for (const window of new Set(results.map((result) => result.window))) {
    console.log(`\n${sessions} sessions, ${calls} calls, window ${windowName(window)}\n`)
    const all = [heads, ...rows(results, window)]
    const widths = heads.map((_, column) => Math.max(...all.map((cells) => cells[column]!.length)))
    for (const cells of all)
      console.log(
        cells
          .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
          .join('  '),
      )
    const ahead = better(results, window)
    if (ahead.length > 0) console.log(`\nWho does better:\n${ahead.join('\n').replaceAll('**', '')}`)
  }
  if (growth.length > 0) console.log(`\n${growthTable(growth)}`)
}

const table = (lines: readonly (readonly string[])[]): string => {
  const [head, ...rest] = lines.map((cells) => `| ${cells.join(' | ')} |`)
  return [head, `|${heads.map(() => '---').join('|')}|`, ...rest].join('\n')
}

const root = resolve(import.meta.dirname, '../..')

export function writePages({ results, growth = [], ...about }: Run): void {
  const windows = [...new Set(results.map((result) => result.window))]
  for (const window of windows)
    writeFileSync(join(root, `docs/images/price-${windowName(window)}.svg`), plot(results, window))
  writeFileSync(join(root, 'docs/benchmarks.md'), page(results, windows, growth, about))
  const readme = join(root, 'README.md')
  const text = readFileSync(readme, 'utf8')
  const [begin, end] = ['<!-- benchmarks:begin -->', '<!-- benchmarks:end -->']
  const head = text.slice(0, text.indexOf(begin) + begin.length)
  const tail = text.slice(text.indexOf(end))
  writeFileSync(readme, `${head}\n${summary(results, windows.at(-1)!, about)}\n${tail}`)
}

const plot = (results: readonly Result[], window: number): string =>
  scatter(
    results
      .filter((result) => result.window === window)
      .map(({ runner, figures }) => ({
        name: runner.name,
        x: figures.costUsd,
        y: figures.quoteRecall,
        isOurs: runner.name === OURS,
        isHollow: !isUsable(figures),
      })),
    {
      title: `Window of ${windowName(window)}: price and quotes in view`,
      x: 'price of the sessions’ input, dollars',
      y: 'quotes in view',
    },
  )

function growthTable(growth: readonly Growth[]): string {
  if (growth.length === 0) return ''
  const sizes = SIZES.map((size) => size.toLocaleString('en-US'))
  return `## One more call on a long history

Median milliseconds for one more call, cut to about 32,000 tokens. Plimsoll reads the request's text; the others get their own messages ready made.

| messages | ${sizes.join(' | ')} |
|---|${sizes.map(() => '---').join('|')}|
${growth.map(({ name, ms }) => `| ${name} | ${ms.map((time) => time.toFixed(time < 10 ? 2 : 0)).join(' | ')} |`).join('\n')}

Memory: megabytes held between two calls, after garbage collection, beside the client's own messages. Plimsoll keeps its archive in a file and remembers in memory what it read, counted and sent; the others hold their own
form of the messages.

| messages | ${sizes.join(' | ')} |
|---|${sizes.map(() => '---').join('|')}|
${growth.map(({ name, bytes }) => `| ${name} | ${bytes.map((held) => (held / 1e6).toFixed(1)).join(' | ')} |`).join('\n')}

`
}

function page(
  results: readonly Result[],
  windows: readonly number[],
  growth: readonly Growth[],
  { sessions, calls }: About,
): string {
  const setups = results
    .filter(({ window }) => window === windows[0])
    .map(({ runner }) => `| ${runner.name} | ${runner.from ?? 'written here'} | ${runner.setup} |`)
  return `# Benchmarks

<!-- Written by \`npm run bench -- --write\`. Do not edit. -->

Context managers on the same recorded sessions (${sessions} Claude Code sessions, ${calls} model calls, everything resent): one count of tokens, one referee, one price list, one run.

## Where others do better

Of those whose requests the provider would have taken (at most 1 % too long or invalid):

${windows.flatMap((window) => [`Window of ${windowName(window)}:`, '', ...better(results, window), '']).join('\n')}
${windows
  .map(
    (window) => `## Window of ${windowName(window)}

${table([heads, ...rows(results, window)])}

![Price against quotes in view, window of ${windowName(window)}](images/price-${windowName(window)}.svg)
`,
  )
  .join('\n')}
Hollow dots: more than 1 % of the requests would have been refused.

${growthTable(growth)}## What the columns say

- **too long**: requests above the window less ${1024} tokens for the answer. **invalid**: requests that break a rule of their API (a result without its call, a call without its result). **refused**: calls for which
  the manager gave an error instead of a request.
- **task in view**: calls that show the first user message whole. **prose in view**: of what people and the model wrote (lines of at least 20 characters, by characters), the share in view, over the calls where something was left out.
- **quotes, names in view**: the *actual next* answer shows what was needed: lines of at least 20 characters, and names (paths, symbols, numbers), that it repeats from before; the share still in view. **recoverable**: the same, counting
  what a tool declared in the request can open.
- **price**: input under Sonnet 4.5 prices with its prompt cache (a prefix that is the same as before is read, the rest written), summaries by a model included; in brackets, against no management.
- **ms per call**: median, and 95th percentile in brackets, on a shared machine with two cores: read them against each other.

## How each was set up

All get the same limit and the referee's own count of tokens. Where a model writes summaries, a stand-in takes its place that keeps the beginning of each paragraph; a real model writes better prose, and knows no more than it is shown.
Managers of messages are held against the rules of OpenAI's chat API, the most lenient; Plimsoll and its presets against those of the recorded one (Anthropic). Plimsoll's price includes its \`recall\` tool.

| | Package | Setup |
|---|---|---|
${setups.join('\n')}

## Run it

\`\`\`sh
npm run bench
npm run bench -- my-session.jsonl
npm run bench:full
\`\`\`

The first takes about three minutes and installs the packages into \`bench/.peers\`. The second runs your own session, in any format that \`plimsoll inspect\` reads. All nineteen development sessions: [the table](../bench/figures/comparison.md). Other figures: [the proxy](../bench/figures/proxy.md), [stores](../bench/figures/stores.md),
[token counts](../bench/figures/meter.md), [tool output](../bench/figures/intake.md), [presets](../bench/figures/presets-table.md).
`
}

const IN_README = [
  OURS,
  'LangChain trimMessages',
  'LangChain contextEditing',
  'LangChain summarization',
  'AI SDK pruneMessages',
  'Mastra TokenLimiter',
  'Strands sliding window',
  'context-chef',
  NONE,
]
const README_COLUMNS = [
  'too long',
  'invalid',
  'task in view',
  'prose in view',
  'quotes in view',
  'recoverable',
  'price',
  'ms per call',
]

function summary(results: readonly Result[], window: number, { sessions, calls }: About): string {
  const columns = COLUMNS.filter(({ head }) => README_COLUMNS.includes(head))
  const here = results.filter((result) => result.window === window)
  const unmanaged = here.find(({ runner }) => runner.name === NONE)?.figures
  const lines = IN_README.flatMap((name) => here.filter(({ runner }) => runner.name === name)).map(
    ({ runner, figures }) => `| ${[runner.name, ...columns.map(({ of }) => of(figures, unmanaged))].join(' | ')} |`,
  )
  return `On ${sessions} recorded Claude Code sessions (${calls} calls) in a window of ${windowName(window)}, same tokenizer, referee and prices for all (\`npm run bench\`; [everything, and where others are better](docs/benchmarks.md)):

| | ${columns.map(({ head }) => head).join(' | ')} |
|---|${columns.map(() => '---').join('|')}|
${lines.join('\n')}`
}

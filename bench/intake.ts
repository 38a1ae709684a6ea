/**
 * Measures of intake: grouping accuracy of mined log templates, the time to a view of 1 MB and 10 MB of one-line JSON (peers
 * beside it) and of 16 MB of logs, and time and memory up to 100 MB.
 *
 *   npm run bench:intake                 accuracy, views, sizes 1 and 10 MB
 *   npm run bench:intake -- --large      sizes up to 100 MB
 *   npm run bench:intake -- --peers      installs @context-chef/core and tokenjuice into a temporary folder
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { gunzipSync } from 'node:zlib'
import { show } from '../src/engine/intake/index.ts'
import { createPlimsoll } from '../src/plimsoll.ts'
import { groupingAccuracy, LOGHUB_SYSTEMS } from '../test/intake/grouping-accuracy.ts'
import { countTokens, HANDLE, seeded, toolOutputs } from '../test/intake/helpers.ts'

const flags = new Set(process.argv.slice(2))
const BUDGET = 1_000

/** For the size table: an exact tokenizer would measure itself on a view of a fixed size. */
const roughTokens = (text: string): number => Math.ceil(text.length / 3)

function oneLineJson(megabytes: number, first = 0): string {
  const parts: string[] = []
  for (let i = 0, size = 0; size < megabytes * 1e6; i++) {
    const part = `{"id":${first + i},"name":"service-${i % 100}","status":"${i % 50 === 0 ? 'failed' : 'running'}","latency_ms":${(i * 7) % 1000},"labels":{"app":"web","zone":"eu-${i % 3}"},"tags":["a","b"]}`
    parts.push(part)
    size += part.length + 1
  }
  return `[${parts.join(',')}]`
}

function logLines(megabytes: number): string {
  const parts: string[] = []
  for (let i = 0, size = 0; size < megabytes * 1e6; i++) {
    const part = `2025-06-20T10:37:${String(i % 60).padStart(2, '0')}.113Z [${i % 50 === 0 ? 'ERROR' : 'INFO'}] svc-${i % 7} - request ${i} from 10.0.0.${i % 250} took ${i % 977} ms`
    parts.push(part)
    size += part.length + 1
  }
  return parts.join('\n')
}

const repeat = (text: string, megabytes: number): string => text.repeat(Math.ceil((megabytes * 1e6) / text.length))

const SHAPES: Readonly<Record<string, (megabytes: number) => string>> = {
  'one-line JSON': oneLineJson,
  'log lines': logLines,
  'nested arrays': (mb) => '['.repeat(mb * 5e5) + ']'.repeat(mb * 5e5),
  'one JSON string': (mb) => `{"a":"${repeat('x y ', mb)}","b":1}`,
  'JSON log lines': (mb) => repeat('{"time":"2025-01-01T00:00:00Z","level":"info","msg":"hello 12","x":1}\n', mb),
  CSV: (mb) => `id,name,value\n${repeat('17,"some name",3.25\n', mb)}`,
  HTML: (mb) => `<!doctype html>${repeat('<div><p>hello <b>world</b></p><script>x()</script></div>\n', mb)}`,
  'terminal codes': (mb) => repeat('\u001b[31mred\u001b[0m and \u001b[1;32mgreen\u001b[0m\n', mb),
  'lone surrogates': (mb) => repeat('\ud83d word\n\udc00', mb),
  base64: (mb) => Buffer.alloc(mb * 75e4, 'Zz9k').toString('base64'),
}

interface Times {
  readonly median: number
  readonly best: number
  /** Median of the processor time: what it costs whatever else runs. */
  readonly cpu: number
}

/** The median says what to expect on this machine now; the best what the code costs when nothing else runs. */
async function measure(run: (round: number) => unknown, rounds: number): Promise<Times> {
  const times: number[] = []
  const used: number[] = []
  for (let i = 0; i < rounds; i++) {
    const start = performance.now()
    const before = process.cpuUsage()
    await run(i)
    const { user, system } = process.cpuUsage(before)
    times.push(performance.now() - start)
    used.push((user + system) / 1_000)
  }
  const middle = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(rounds / 2)]!
  return { median: middle(times), best: times[0]!, cpu: middle(used) }
}

const timesText = ({ median, best, cpu }: Times): string =>
  `median ${median.toFixed(1)} ms, best ${best.toFixed(1)} ms, processor ${cpu.toFixed(1)} ms`

function benchGrouping(): void {
  console.log('\nGrouping accuracy of mined templates (Loghub 2k, one configuration for all systems)')
  if (!existsSync(join(toolOutputs, 'loghub'))) return console.warn('  Loghub is not there: not measured')
  const scores = LOGHUB_SYSTEMS.map((system) => {
    const log = gunzipSync(readFileSync(join(toolOutputs, 'loghub', `${system}_2k.log.gz`))).toString()
    const accuracy = groupingAccuracy(log, readFileSync(join(toolOutputs, 'loghub', `${system}_2k.events.csv`), 'utf8'))
    console.log(`  ${system.padEnd(10)} ${accuracy.toFixed(4)}`)
    return accuracy
  })
  console.log(`  ${'mean'.padEnd(10)} ${(scores.reduce((a, b) => a + b, 0) / scores.length).toFixed(4)}`)
}

/** Views by the exact o200k tokenizer, warm. */
async function benchViews(): Promise<void> {
  console.log(`\nOne-line JSON to a view of at most ${BUDGET} tokens (exact o200k count included)`)
  for (const megabytes of [1, 10]) {
    const text = oneLineJson(megabytes)
    let tokens = 0
    const view = (): void => {
      const shown = show(text, { budgetTokens: BUDGET, countTokens, handle: HANDLE })
      JSON.parse(shown.text)
      tokens = shown.tokens
    }
    const cold = await measure(view, 1)
    await measure(view, 8)
    const warm = await measure(view, megabytes === 1 ? 31 : 7)
    console.log(
      `  plimsoll show        ${String(megabytes).padStart(3)} MB  ${timesText(warm)} (first ${cold.best.toFixed(0)} ms)  ${tokens} tokens, valid JSON: schema, statistics, records of both ends`,
    )
  }
}

/** Lines of which no two are alike when their digits are left aside: identifiers in hexadecimal. */
function tracedLines(megabytes: number): string {
  const next = seeded(7)
  const hex = (digits: number): string =>
    Array.from({ length: digits }, () => Math.floor(next() * 16).toString(16)).join('')
  const parts: string[] = []
  for (let i = 0, size = 0; size < megabytes * 1e6; i++) {
    const part = `2025-06-20 10:37:${String(i % 60).padStart(2, '0')},113 ${i % 50 === 0 ? 'ERROR' : 'INFO'} [http-${i % 9}] com.acme.web.Filter: request ${hex(8)}-${hex(4)}-${hex(12)} took ${i % 977} ms user=${hex(5)}`
    parts.push(part)
    size += part.length + 1
  }
  return parts.join('\n')
}

const LOGS: Readonly<Record<string, (megabytes: number) => string>> = {
  'numbered lines': logLines,
  'lines with hexadecimal ids': tracedLines,
  ...Object.fromEntries(['HDFS', 'Linux', 'OpenSSH'].map((system) => [`Loghub ${system}`, loghubLines(system)])),
}

/** The recorded lines over and over, with other digits each time. */
function loghubLines(system: string): (megabytes: number) => string {
  return (megabytes) => {
    const path = join(toolOutputs, 'loghub', `${system}_2k.log.gz`)
    if (!existsSync(path)) return ''
    const lines = gunzipSync(readFileSync(path)).toString().trim()
    const next = seeded(11)
    const parts: string[] = []
    for (let size = 0; size < megabytes * 1e6; size += lines.length + 1)
      parts.push(
        lines.replaceAll(/\d{2,}/g, (digits) => digits.replaceAll(/\d/g, () => String(Math.floor(next() * 10)))),
      )
    return parts.join('\n')
  }
}

/** Large logs, cold and warm: the first one is what a process pays that has shown nothing yet. */
async function benchLogs(): Promise<void> {
  console.log(`\n16 MB of logs to a view of at most ${BUDGET} tokens (exact o200k count included)`)
  for (const [name, make] of Object.entries(LOGS)) {
    const text = make(16)
    if (text === '') continue
    const view = (): void => void show(text, { budgetTokens: BUDGET, countTokens, handle: HANDLE })
    const first = await measure(view, 1)
    const warm = await measure(view, 5)
    console.log(`  ${name.padEnd(28)} ${timesText(warm)} (first ${first.cpu.toFixed(0)} ms)`)
  }
}

/** The verb: counted, stored with its exact bytes, shown, logged; then asked by SQL. */
async function benchVerb(): Promise<void> {
  const plimsoll = createPlimsoll({ store: 'memory:', secret: new Uint8Array(32) })
  const session = plimsoll.session({ id: 'bench' })
  const warmUp = 8
  const rounds = 21
  const outputs = Array.from({ length: warmUp + rounds }, (_, i) => oneLineJson(1, i))
  let handle = ''
  const view = async (i: number): Promise<void> => {
    const shown = await session.toolResult({ tool: 'curl', output: outputs[i]!, model: 'gpt-4.1', window: 32_000 })
    handle = shown.artifact!
  }
  await measure(view, warmUp)
  const time = await measure((i) => view(i + warmUp), rounds)
  console.log(`  session.toolResult     1 MB  ${timesText(time)}  counted, stored, shown, logged`)
  const sql = 'SELECT status, count(*), avg(latency_ms) FROM t GROUP BY 1'
  const first = await measure(() => plimsoll.artifacts.query(handle, { sql }), 1)
  const again = await measure(() => plimsoll.artifacts.query(handle, { sql }), 5)
  console.log(`  artifacts.query        1 MB  first ${first.best.toFixed(0)} ms, then ${timesText(again)}`)
  await plimsoll.close()
}

async function benchPeers(): Promise<void> {
  if (!flags.has('--peers')) return console.log('  (peers not installed; run with --peers)')
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-peers-'))
  try {
    writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}')
    execFileSync(
      'npm',
      [
        'install',
        '--silent',
        '--no-audit',
        '--no-fund',
        '--ignore-scripts',
        '@context-chef/core@4.2.1',
        'tokenjuice@0.8.5',
      ],
      { cwd: folder, stdio: 'ignore' },
    )
    const load = (path: string): Promise<Record<string, unknown>> =>
      import(pathToFileURL(join(folder, 'node_modules', path)).href) as Promise<Record<string, unknown>>
    const { ContextChef, InMemoryBackend } = (await load('@context-chef/core/dist/index.mjs')) as unknown as ChefModule
    for (const megabytes of [1, 10]) {
      const text = oneLineJson(megabytes)
      const chef = new ContextChef({
        store: new InMemoryBackend(),
        janitor: {
          contextWindow: 128_000,
          tokenizer: (messages: unknown) => JSON.stringify(messages).length / 4,
          compressionModel: () => Promise.resolve(''),
        },
      })
      const shown = await chef.offload(text)
      const time = await measure(() => chef.offload(text), 15)
      console.log(
        `  context-chef offload ${String(megabytes).padStart(3)} MB  ${timesText(time)}  ${countTokens(shown)} tokens, valid JSON: ${parses(shown)}, the last 2,000 characters`,
      )
    }
    const { reduceExecution } = (await load('tokenjuice/dist/index.js')) as {
      reduceExecution?: (input: unknown) => Promise<{ inlineText?: string }>
    }
    if (reduceExecution === undefined) return
    const small = oneLineJson(0.01)
    const time = await measure(
      () => reduceExecution({ toolName: 'exec', command: 'cat data.json', stdout: small, exitCode: 0 }),
      1,
    )
    console.log(`  tokenjuice reduce    10 kB  ${time.best.toFixed(0)} ms (1 MB is left out: it did not finish)`)
  } catch (error) {
    console.warn(`  peers could not be measured: ${String(error).slice(0, 200)}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

interface ChefModule {
  readonly ContextChef: new (options: unknown) => { offload(text: string): Promise<string> }
  readonly InMemoryBackend: new () => unknown
}

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Processor time (others may use this machine too) and the heap beyond the input. Linear means the same ms/MB in every column. */
function benchSizes(): void {
  const sizes = flags.has('--large') ? [1, 10, 100] : [1, 10]
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  console.log(`\nProcessor time to a 2,000-token view and heap held beyond the input, by size`)
  for (const [name, make] of Object.entries(SHAPES)) {
    const cells = sizes.map((megabytes) => {
      const text = make(megabytes)
      collect()
      const before = process.memoryUsage().heapUsed
      let peak = before
      const start = process.cpuUsage()
      const shown = show(text, {
        budgetTokens: 2_000,
        countTokens: (view) => {
          peak = Math.max(peak, process.memoryUsage().heapUsed)
          return roughTokens(view)
        },
        handle: HANDLE,
      })
      const used = process.cpuUsage(start)
      const time = (used.user + used.system) / 1_000
      return `${megabytes} MB ${time.toFixed(0)} ms (${(time / megabytes).toFixed(0)} ms/MB, +${Math.max(0, (peak - before) / 1e6).toFixed(0)} MB, ${shown.kind})`
    })
    console.log(`  ${name.padEnd(16)} ${cells.join('  |  ')}`)
  }
}

benchGrouping()
await benchViews()
await benchLogs()
await benchVerb()
await benchPeers()
benchSizes()

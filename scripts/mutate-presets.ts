/**
 * Moves each number of the five documents by one (integers) or by a tenth (others), both ways, in a copy of the project, and expects a test
 * of its preset to fail. A number whose tests stay green is held by nothing.
 *
 *   npm run mutate:presets                       all numbers
 *   npm run mutate:presets -- adk-code ai-agent  some designs
 */
import { spawn } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

interface PresetNumber {
  /** From `src/engine/presets`. */
  readonly file: string
  /** Text around the number; it occurs once in the file, and its last number is the one that is moved. */
  readonly find: string
  readonly what: string
  /** Which of several numbers in the text. @default the last */
  readonly number?: number
}

const PROJECT = join(import.meta.dirname, '..')
const COPIED = ['src', 'test', 'data', 'docs', 'package.json', 'tsconfig.json', 'vitest.config.ts']
const TIMEOUT_MS = 300_000

const { positionals } = parseArgs({ allowPositionals: true })
const numbers = JSON.parse(await readFile(join(PROJECT, 'test/policies/numbers.json'), 'utf8')) as Record<
  string,
  readonly PresetNumber[]
>

/** What holds a preset's numbers, the quickest first. */
const testsOf = (design: string): readonly string[] => [
  'test/policies/edges.test.ts',
  'test/policies/document-numbers.test.ts',
  'test/intake/guards.test.ts',
  'test/meter/designs.test.ts',
  'test/meter/ledger.test.ts',
  'test/policies/environment.test.ts',
  `test/policies/repros/${design}.test.ts`,
  `test/policies/${design}.test.ts`,
  `test/policies/${design === 'cyber-autoagent' ? 'cyber' : design}-rows.test.ts`,
  'test/policies/intake-rows.test.ts',
  'test/config/config.test.ts',
]

const copy = await mkdtemp(join(tmpdir(), 'plimsoll-presets-'))
let red = 0
const green: string[] = []
try {
  for (const name of COPIED) await cp(join(PROJECT, name), join(copy, name), { recursive: true }).catch(() => {})
  await symlink(join(PROJECT, 'node_modules'), join(copy, 'node_modules'))
  for (const design of Object.keys(numbers).filter((name) => positionals.length === 0 || positionals.includes(name)))
    for (const number of numbers[design]!) await tryBoth(design, number)
} finally {
  await rm(copy, { recursive: true, force: true })
}
console.log(`\n${red} mutations turned a test red, ${green.length} stayed green.`)
for (const line of green) console.log(`green: ${line}`)
process.exitCode = green.length === 0 ? 0 : 1

async function tryBoth(design: string, number: PresetNumber): Promise<void> {
  const path = join(copy, 'src/engine/presets', number.file)
  const original = await readFile(path, 'utf8')
  if (original.split(number.find).length !== 2) throw new Error(`${number.file} has not exactly one "${number.find}"`)
  for (const moved of [movedBy(number, 1), movedBy(number, -1)]) {
    await writeFile(
      path,
      original.replace(number.find, () => moved),
    )
    const failing = await firstRed(design)
    const line = `${design} ${number.what}: ${moved.replace(/\s+/g, ' ')}`
    if (failing === undefined) green.push(line)
    else red++
    console.log(`${failing === undefined ? 'GREEN' : 'red  '} ${line}${failing === undefined ? '' : ` (${failing})`}`)
  }
  await writeFile(path, original)
}

function movedBy({ find, number }: PresetNumber, sign: 1 | -1): string {
  const all = [...find.matchAll(/\d[\d_]*(?:\.\d+)?/g)]
  const match = number === undefined ? all.at(-1) : all.find(([text]) => Number(text.replaceAll('_', '')) === number)
  if (match === undefined) throw new Error(`There is no number in "${find}"`)
  const value = Number(match[0].replaceAll('_', ''))
  const isWhole = !match[0].includes('.')
  // A share of a tenth or less is moved by half of itself: nothing would be left of it.
  const step = isWhole ? 1 : value > 0.1 ? 0.1 : value / 2
  const next = isWhole ? String(value + sign) : String(Number((value + sign * step).toFixed(4)))
  return find.slice(0, match.index) + next + find.slice(match.index + match[0].length)
}

/** The first test file that fails, one after the other: most numbers are held by the first ones. */
async function firstRed(design: string): Promise<string | undefined> {
  for (const file of testsOf(design)) {
    const code = await run(file)
    if (code !== 0) return file
  }
  return undefined
}

function run(file: string): Promise<number> {
  return new Promise((resolve) => {
    const args = ['vitest', 'run', file, '--bail=1', '--maxWorkers=1', '--reporter=dot']
    const child = spawn('npx', args, { cwd: copy, stdio: 'ignore', timeout: TIMEOUT_MS })
    child.on('exit', (code) => resolve(code ?? 1))
  })
}

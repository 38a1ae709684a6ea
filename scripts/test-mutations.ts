/**
 * For each pain: breaks one line of the code in a copy of the project and expects the pain's test to fail there. A test that
 * stays green under its mutation does not hold what it says.
 *
 *   npm run test:mutations            all
 *   npm run test:mutations -- A1 G2   some
 */
import { spawn } from 'node:child_process'
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

interface Mutation {
  /** Path from the project's root. */
  readonly file: string
  /** A part of one line; it occurs exactly once in the file. */
  readonly find: string
  readonly replace: string
}

type Outcome = 'red' | 'green' | 'broken'

interface Finding {
  readonly pain: string
  readonly outcome: Outcome
  readonly note: string
}

const PROJECT = join(import.meta.dirname, '..')
const SHARED = process.env['PLIMSOLL_SHARED'] ?? join(PROJECT, '..', 'shared')
const PAINS = 'test/pains'
const COPIED = ['src', 'test', 'data', 'package.json', 'tsconfig.json', 'vitest.config.ts']
const WORKERS = 2
/** A mutation may turn a bounded loop into an endless one; that is red as well. */
const TIMEOUT_MS = 120_000

const { positionals } = parseArgs({ allowPositionals: true })
const mutations = JSON.parse(await readFile(join(PROJECT, PAINS, 'mutations.json'), 'utf8')) as Record<string, Mutation>
const files = (await readdir(join(PROJECT, PAINS))).filter((name) => name.endsWith('.test.ts'))
/** A pain may have more than one file; one of them has to fail. */
const testOf = new Map<string, string[]>()
for (const name of files) {
  const pain = name.split('-')[0]!
  testOf.set(pain, [...(testOf.get(pain) ?? []), join(PAINS, name)])
}

const unmatched = [
  ...[...testOf.keys()].filter((pain) => mutations[pain] === undefined).map((pain) => `${pain} has no mutation`),
  ...Object.keys(mutations)
    .filter((pain) => !testOf.has(pain))
    .map((pain) => `${pain} has no test`),
]
const wanted = Object.keys(mutations).filter((pain) => positionals.length === 0 || positionals.includes(pain))

const findings: Finding[] = []
const queue = wanted.filter((pain) => testOf.has(pain))
await Promise.all(Array.from({ length: WORKERS }, work))

findings.sort((a, b) => wanted.indexOf(a.pain) - wanted.indexOf(b.pain))
const bad = findings.filter(({ outcome }) => outcome !== 'red')
console.log(`\n${findings.length - bad.length} of ${findings.length} mutations were caught.`)
for (const { pain, outcome, note } of bad) console.log(`${pain}: ${outcome} ${note}`)
for (const line of unmatched) console.log(line)
process.exitCode = bad.length + unmatched.length === 0 ? 0 : 1

/** One copy of the project per worker, so that two mutations never meet. */
async function work(): Promise<void> {
  const copy = await mkdtemp(join(tmpdir(), 'plimsoll-mutations-'))
  try {
    for (const name of COPIED) {
      // A checkout may lack the optional ones.
      await cp(join(PROJECT, name), join(copy, name), { recursive: true }).catch(ignoreMissing)
    }
    await symlink(join(PROJECT, 'node_modules'), join(copy, 'node_modules'))
    for (let pain = queue.shift(); pain !== undefined; pain = queue.shift()) {
      const finding = await tryMutation(copy, pain, mutations[pain]!)
      findings.push(finding)
      console.log(
        `${finding.outcome === 'red' ? 'ok ' : 'BAD'} ${pain.padEnd(4)} ${finding.outcome.padEnd(6)} ${finding.note}`,
      )
    }
  } finally {
    await rm(copy, { recursive: true, force: true })
  }
}

async function tryMutation(copy: string, pain: string, { file, find, replace }: Mutation): Promise<Finding> {
  const path = join(copy, file)
  const original = await readFile(path, 'utf8')
  const hits = original.split(find).length - 1
  if (hits !== 1) return { pain, outcome: 'broken', note: `the line occurs ${hits} times in ${file}` }
  try {
    await writeFile(
      path,
      original.replace(find, () => replace),
    )
    const { failed, passed, timedOut } = await runTest(copy, testOf.get(pain)!)
    if (timedOut) return { pain, outcome: 'red', note: `${file} (did not end)` }
    // No test ran at all: the mutation broke the module, which proves nothing about the test.
    if (failed + passed === 0) return { pain, outcome: 'broken', note: `${file}: no test could run` }
    return { pain, outcome: failed > 0 ? 'red' : 'green', note: `${file} (${failed} of ${failed + passed} failed)` }
  } finally {
    await writeFile(path, original)
  }
}

async function runTest(
  copy: string,
  tests: readonly string[],
): Promise<{ failed: number; passed: number; timedOut: boolean }> {
  const report = join(copy, 'report.json')
  await rm(report, { force: true })
  const vitest = join('node_modules', 'vitest', 'vitest.mjs')
  const child = spawn(process.execPath, [vitest, 'run', ...tests, '--reporter=json', `--outputFile=${report}`], {
    cwd: copy,
    stdio: 'ignore',
    env: { ...process.env, PLIMSOLL_SHARED: SHARED },
    // A group of its own: its workers have to go with it.
    detached: true,
  })
  let timedOut = false
  const timer = setTimeout(() => {
    timedOut = true
    process.kill(-child.pid!, 'SIGKILL')
  }, TIMEOUT_MS)
  await new Promise((resolve) => child.on('close', resolve))
  clearTimeout(timer)
  if (timedOut) return { failed: 0, passed: 0, timedOut }
  const { numFailedTests = 0, numPassedTests = 0 } = JSON.parse(await readFile(report, 'utf8').catch(() => '{}')) as {
    numFailedTests?: number
    numPassedTests?: number
  }
  return { failed: numFailedTests, passed: numPassedTests, timedOut }
}

function ignoreMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
}

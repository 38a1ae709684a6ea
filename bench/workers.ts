/**
 * What a second worker brings, where processors are free for it: requests per second of `plimsoll proxy --workers 1` and `--workers 2`, side
 * by side in one run. On a machine whose cores clients and upstream need as well, each worker gets a fixed share of a core (a control
 * group), so that the workers are what is short and nothing else. Linux, as root.
 *
 * Twice as many workers are warmed up with twice as many requests, since each compiles its own code. `own`: a connection for each
 * conversation, as agents have one. `any`: conversations take whichever connection is free, so half of the requests come to the wrong worker.
 *
 *   npm run bench:workers -- --share 30 --rounds 7 --size 150
 */
import { execFileSync, fork, spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { bodiesOf } from './proxy/bodies.ts'

const optionOf = (name: string, otherwise: number): number => {
  const at = process.argv.indexOf(`--${name}`)
  return at === -1 ? otherwise : Number(process.argv[at + 1])
}
/** Percent of a core. */
const SHARE = optionOf('share', 30)
const ROUNDS = optionOf('rounds', 5)
const CONNECTIONS = optionOf('connections', 16)
const TURNS = 12
const PERIOD_US = 20_000
const TICK_MS = 10

interface Workers {
  readonly count: number
  readonly url: string
  readonly parent: ChildProcess
  readonly pids: readonly number[]
}

const folder = mkdtempSync(join(tmpdir(), 'plimsoll-bench-'))
const groups: string[] = []
const main = join(import.meta.dirname, '../dist/cli/main.js')

async function start(count: number, upstream: string): Promise<Workers> {
  const home = join(folder, String(count))
  mkdirSync(home)
  const args = [main, 'proxy', '--port', '0', '--json', '--openai', upstream, '--workers', String(count)]
  const parent = spawn(process.execPath, [...args, '--store', `sqlite:${join(home, 'plimsoll.db')}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, HOME: home, PLIMSOLL_HOME: home },
  })
  const url = await new Promise<string>((resolve, reject) => {
    parent.stdout.once('data', (line: Buffer) =>
      resolve((JSON.parse(String(line).split('\n')[0]!) as { listening: string }).listening),
    )
    parent.once('exit', () => reject(new Error('The proxy ended before it listened.')))
  })
  // Lines of requests are nobody's here.
  parent.stdout.resume()
  await delay(1_000)
  const children = readFileSync(`/proc/${parent.pid}/task/${parent.pid}/children`, 'utf8').trim()
  return { count, url, parent, pids: count === 1 ? [parent.pid!] : children.split(' ').map(Number) }
}

/** Gives a process its share of a core, all of its threads together. */
function limit(pid: number, name: string): void {
  const old = '/sys/fs/cgroup/cpu'
  const group = join(existsSync(join(old, 'cpu.cfs_quota_us')) ? old : '/sys/fs/cgroup', `plimsoll-bench-${name}`)
  const quota = Math.round((SHARE / 100) * PERIOD_US)
  mkdirSync(group)
  groups.push(group)
  if (group.startsWith(`${old}/`)) {
    writeFileSync(join(group, 'cpu.cfs_period_us'), String(PERIOD_US))
    writeFileSync(join(group, 'cpu.cfs_quota_us'), String(quota))
  } else writeFileSync(join(group, 'cpu.max'), `${quota} ${PERIOD_US}`)
  writeFileSync(join(group, 'cgroup.procs'), String(pid))
}

function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS
}

type Clients = 'own' | 'any'

/** Requests per second. */
async function load(url: string, bodies: readonly (readonly Buffer[])[], clients: Clients): Promise<number> {
  const queue = [...bodies]
  const shared = new Agent({ connections: CONNECTIONS, pipelining: 1 })
  const startedAt = performance.now()
  let done = 0
  const client = async (): Promise<void> => {
    const own = clients === 'own' ? new Agent({ connections: 1, pipelining: 1 }) : undefined
    for (let session = queue.shift(); session !== undefined; session = queue.shift()) {
      for (const body of session) {
        const answer = await request(`${url}/openai/v1/chat/completions`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: 'Bearer sk-bench' },
          body,
          dispatcher: own ?? shared,
        })
        const text = await answer.body.text()
        if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} ${text.slice(0, 300)}`)
        done++
      }
    }
    await own?.close()
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, client))
  const seconds = (performance.now() - startedAt) / 1000
  await shared.close()
  return done / seconds
}

const conversations = (bytes: number, sessions: number, label: string): Buffer[][] =>
  bodiesOf(bytes, sessions, TURNS).map((session) =>
    session.map((body) => Buffer.from(body.toString('latin1').replace('Task ', `Task ${label} `), 'latin1')),
  )

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!

const SIZES = [
  { name: '1 KB', bytes: 1_000, sessions: 96, warmUp: 400 },
  { name: '150 KB', bytes: 150_000, sessions: 32, warmUp: 250 },
].filter(({ name }) => !process.argv.includes('--size') || name.startsWith(`${optionOf('size', 0)} `))

const upstream = fork(join(import.meta.dirname, 'proxy/upstream.ts'), [], { execArgv: ['--import', 'tsx'] })
const port = await new Promise<number>((resolve) =>
  upstream.once('message', (message: { port: number }) => resolve(message.port)),
)
const all = [await start(1, `http://127.0.0.1:${port}`), await start(2, `http://127.0.0.1:${port}`)]
try {
  for (const { name, bytes, warmUp } of SIZES)
    for (const { url, count } of all)
      for (const clients of ['own', 'any'] as const)
        await load(url, conversations(bytes, warmUp * count, `warm ${name} ${clients}`), clients)
  for (const { count, pids } of all) pids.forEach((pid, i) => limit(pid, `${count}-${i}`))
  console.log(`Each worker has ${SHARE} % of a core.\n`)
  console.log(
    '| body | clients | workers | requests a second | CPU ms a request | against one |\n|---|---|---|---|---|---|',
  )
  for (const { name, bytes, sessions } of SIZES) {
    for (const clients of ['own', 'any'] as const) {
      const found = all.map(() => ({ rates: [] as number[], cpu: [] as number[] }))
      for (let round = 0; round < ROUNDS; round++) {
        for (const [i, { url, pids }] of all.entries()) {
          const before = pids.map(cpuOf)
          found[i]!.rates.push(await load(url, conversations(bytes, sessions, `${clients} ${round}`), clients))
          const used = pids.reduce((sum, pid, at) => sum + cpuOf(pid) - before[at]!, 0)
          found[i]!.cpu.push(used / (sessions * TURNS))
        }
      }
      for (const [i, { count }] of all.entries()) {
        const ratio = median(found[i]!.rates.map((rate, round) => rate / found[0]!.rates[round]!))
        const cells = [
          name,
          clients,
          count,
          median(found[i]!.rates).toFixed(0),
          median(found[i]!.cpu).toFixed(2),
          ratio.toFixed(2),
        ]
        console.log(`| ${cells.join(' | ')} |`)
      }
    }
  }
} finally {
  for (const { parent } of all) {
    parent.kill('SIGKILL')
    execFileSync('sh', ['-c', 'kill -9 "$@" 2>/dev/null || true', 'sh', ...all.flatMap(({ pids }) => pids.map(String))])
  }
  upstream.kill()
  await delay(500)
  for (const group of groups) rmdirSync(group)
  rmSync(folder, { recursive: true, force: true })
}

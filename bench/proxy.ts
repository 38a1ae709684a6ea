/**
 * What a proxy adds, side by side in one run: Plimsoll with all guards on, a bare Node pass-through, and Portkey's gateway.
 *
 * A session is twenty requests, each with the whole history and something new (eight at 2 MB). Its first request has a row of its own
 * (`first`): a proxy that remembers pays there, and an agent does so once. Five milliseconds lie between an answer and the next
 * request of its session (an agent's tools take longer), so with one connection nobody queues behind what a proxy does after it has
 * answered. `plimsoll` adds its own tools to each request, as it ships; `untouched` has that switched off and every guard on, so its
 * requests leave as the bytes that came in. Before anything is measured everybody gets the same warm-up, since proxies run for days, and
 * a short one again before each turn: while others are measured, V8 takes a process that does nothing for one that can give up compiled
 * code (a collection that "reduces"), and who comes first after such a pause would be measured compiling.
 * CPU is what the system's own process used per request; with more connections than cores latency is that number times the queue.
 *
 *   npm run bench:proxy                the table of added latency
 *   npm run bench:proxy -- --memory    memory over 10,000 requests; --sessions 240 for 24,000
 *   npm run bench:proxy -- --streams 1000   as many event streams at once, beside the bare proxy (500 where no number is given)
 *   npm run bench:proxy -- --first-word   from the upstream's first word to the client's, one stream at a time
 *   npm run bench:proxy -- --open 1000   memory of so many sessions of 8 KB
 *   npm run bench:proxy -- --size 150 --connections 1 --rounds 4   one row, with more of it
 *   npm run bench:proxy -- --telemetry   beside itself with an OpenTelemetry SDK that exports nowhere
 *   npm run bench:proxy -- --store memory:   without the embedded store's disk
 *   npm run bench:proxy -- --profile   a .cpuprofile of Plimsoll in the current folder
 */
import { execFileSync, fork, spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { bodiesOf } from './proxy/bodies.ts'

interface System {
  readonly name: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly child?: ChildProcess
  readonly pid?: number | undefined
}

const started: ChildProcess[] = []
const folder = import.meta.dirname

const optionOf = (name: string): string | undefined => {
  const at = process.argv.indexOf(`--${name}`)
  return at === -1 ? undefined : process.argv[at + 1]
}

async function forkOne(
  file: string,
  args: readonly string[],
  flags: readonly string[] = [],
): Promise<{ child: ChildProcess; port: number }> {
  const child = fork(join(folder, 'proxy', file), args, { execArgv: ['--import', 'tsx', ...flags] })
  started.push(child)
  const port = await new Promise<number>((resolve, reject) => {
    child.once('message', (message: { port: number }) => resolve(message.port))
    child.once('exit', () => reject(new Error(`${file} ended before it listened`)))
  })
  return { child, port }
}

/** Installed into a folder of its own on first use: it is a peer to measure against, not a dependency. */
async function startPortkey(upstream: string): Promise<System | undefined> {
  // A folder of its own: npm would take the packages of the other benches away.
  const peers = join(folder, '.peers', 'gateways')
  const entry = join(peers, 'node_modules/@portkey-ai/gateway/build/start-server.js')
  try {
    if (!existsSync(entry)) {
      mkdirSync(peers, { recursive: true })
      writeFileSync(join(peers, 'package.json'), '{"private":true}\n')
      execFileSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', '@portkey-ai/gateway@1.15.2'], {
        cwd: peers,
        stdio: 'ignore',
      })
    }
    const port = await freePort()
    const child = spawn(process.execPath, [entry, `--port=${port}`, '--headless'], { stdio: 'ignore' })
    started.push(child)
    const url = `http://127.0.0.1:${port}`
    await reachable(url)
    return {
      name: 'portkey',
      pid: child.pid,
      url: `${url}/v1`,
      headers: { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': `${upstream}/v1` },
    }
  } catch (error) {
    console.warn(`Portkey's gateway cannot be run here: ${(error as Error).message}`)
    return undefined
  }
}

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })

async function reachable(url: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      await fetch(url)
      return
    } catch (error) {
      if (tries > 100) throw error
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}

/** Latencies in ms: of the sessions' first requests, and of those that go on. */
interface Latencies {
  readonly first: number[]
  readonly next: number[]
}

/** All turns of all sessions, `connections` at a time, each session in its order. */
async function measure(
  system: System,
  bodies: readonly (readonly Buffer[])[],
  connections: number,
): Promise<Latencies> {
  const dispatcher = new Agent({ connections, pipelining: 1 })
  const latencies: Latencies = { first: [], next: [] }
  const queue = [...bodies]
  const worker = async (): Promise<void> => {
    for (let session = queue.shift(); session !== undefined; session = queue.shift()) {
      for (const [turn, body] of session.entries()) {
        const startedAt = performance.now()
        const answer = await request(`${system.url}/chat/completions`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: 'Bearer sk-bench', ...system.headers },
          body,
          dispatcher,
        })
        const text = await answer.body.text()
        if (answer.statusCode !== 200) throw new Error(`${system.name}: ${answer.statusCode} ${text.slice(0, 300)}`)
        latencies[turn === 0 ? 'first' : 'next'].push(performance.now() - startedAt)
        await delay(PAUSE_MS)
      }
    }
  }
  await Promise.all(Array.from({ length: connections }, worker))
  await dispatcher.close()
  return latencies
}

const PAUSE_MS = 5

const quantile = (values: readonly number[], q: number): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? NaN
}

const TICK_MS = 10

/** CPU time of a process so far, in ms, where the system says it. */
function cpuOf({ pid }: System): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]!.split(' ')
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS
  } catch {
    return NaN
  }
}

const SIZES = [
  { name: '1 KB', bytes: 1_000, turns: 20, sessions: 24, warmUp: 150, again: 32 },
  { name: '150 KB', bytes: 150_000, turns: 20, sessions: 16, warmUp: 60, again: 16 },
  { name: '2 MB', bytes: 2_000_000, turns: 8, sessions: 4, warmUp: 2, again: 2 },
] as const

/** No two conversations of a run are the same. */
function conversations(bytes: number, sessions: number, turns: number, label: string): Buffer[][] {
  return bodiesOf(bytes, sessions, turns).map((session) =>
    session.map((body) => Buffer.from(body.toString('latin1').replace('Task ', `Task ${label} `), 'latin1')),
  )
}

interface Found extends Latencies {
  cpuMs: number
}

async function table(systems: readonly System[]): Promise<void> {
  const [size, only] = [optionOf('size'), optionOf('connections')]
  const rounds = Number(optionOf('rounds') ?? 2)
  const sizes = SIZES.filter(({ name }) => size === undefined || name.startsWith(`${size} `))
  for (const { name, bytes, turns, warmUp } of sizes) {
    for (const system of systems) await measure(system, conversations(bytes, warmUp, turns, `warm ${name}`), 8)
  }
  for (const { name, bytes, turns, sessions: fewest, again } of sizes) {
    for (const connections of [1, 16, 64]) {
      if (only !== undefined && Number(only) !== connections) continue
      if (bytes > 1_000_000 && connections === 64) continue
      const sessions = Math.max(fewest, connections)
      const results = new Map(systems.map(({ name }): [string, Found] => [name, { first: [], next: [], cpuMs: 0 }]))
      for (let round = 0; round < rounds; round++) {
        for (const system of systems) {
          const label = `${round} ${connections}`
          const bodies = conversations(bytes, sessions, turns, label)
          await measure(system, conversations(bytes, again, turns, `again ${label}`), 8)
          const before = cpuOf(system)
          const { first, next } = await measure(system, bodies, connections)
          const found = results.get(system.name)!
          found.first.push(...first)
          found.next.push(...next)
          found.cpuMs += cpuOf(system) - before
        }
      }
      const direct = results.get('direct')!
      for (const [system, found] of results) {
        const perCall = found.cpuMs / (found.first.length + found.next.length)
        // The direct calls have no process of their own.
        const cpu = Number.isFinite(perCall) ? perCall.toFixed(2) : ''
        console.log(`| ${name} | ${connections} | ${system} | ${rowOf(found.next, direct.next)} | ${cpu} |`)
        console.log(`| ${name}, first | ${connections} | ${system} | ${rowOf(found.first, direct.first)} | |`)
      }
    }
  }
}

function rowOf(found: readonly number[], direct: readonly number[]): string {
  const at = (q: number): [number, number] => [quantile(found, q), quantile(direct, q)]
  const [[p50, direct50], [p99, direct99]] = [at(0.5), at(0.99)]
  return [p50, p99, p50 - direct50, p99 - direct99].map((ms) => ms.toFixed(1)).join(' | ')
}

async function memory(system: System): Promise<void> {
  const bodies = bodiesOf(8_000, Number(optionOf('sessions') ?? 100), 100)
  console.log('| | resident | live after a collection |\n|---|---|---|')
  for (let done = 0; done < bodies.length; done += 10) {
    await measure(system, bodies.slice(done, done + 10), 10)
    // A collection that is asked for would keep small what is being measured.
    const isLast = done + 10 >= bodies.length
    const { rss, live } = await ask<{ rss: number; live?: number }>(system.child!, isLast ? 'live' : 'resident')
    const held = live === undefined ? '' : `${(live / 1e6).toFixed(1)} MB`
    console.log(`| ${(done + 10) * 100} requests | ${(rss / 1e6).toFixed(0)} MB | ${held} |`)
  }
}

const STREAMS = Number(optionOf('streams')) || 500

async function streams(systems: readonly System[]): Promise<void> {
  // Twice, the second time counts.
  for (const round of ['warm', 'measured']) for (const system of systems) await streamsOf(system, round)
}

async function streamsOf(system: System, round: string): Promise<void> {
  const dispatcher = new Agent({ connections: STREAMS, pipelining: 1 })
  const bodies = bodiesOf(1_000, STREAMS, 1)
  const startedAt = performance.now()
  const ends = await Promise.all(
    bodies.map(async ([body]) => {
      const answer = await request(`${system.url}/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer sk-bench' },
        body: body!.toString().replace('{', '{"stream":true,').replace('Task ', `Task ${round} `),
        dispatcher,
      })
      return (await answer.body.text()).includes('[DONE]')
    }),
  )
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  const rss =
    system.name !== 'plimsoll'
      ? ''
      : `, ${((await ask<{ rss: number }>(system.child!, 'resident')).rss / 1e6).toFixed(0)} MB`
  console.log(
    `${system.name} (${round}): ${ends.filter(Boolean).length} of ${STREAMS} streams complete in ${seconds} s${rss}`,
  )
  await dispatcher.close()
}

/** From the moment at which the upstream writes its first word, which is in the word, until the client has it. */
async function firstWords(system: System): Promise<void> {
  const dispatcher = new Agent({ connections: 1, pipelining: 1 })
  const late: number[] = []
  for (const [body] of bodiesOf(1_000, 60, 1)) {
    const answer = await request(`${system.url}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer sk-bench', ...system.headers },
      body: body!.toString().replace('{', '{"stream":true,'),
      dispatcher,
    })
    for await (const piece of answer.body) {
      const now = performance.timeOrigin + performance.now()
      const written = /word ([\d.]+) /.exec(String(piece))?.[1]
      if (written === undefined) continue
      late.push(now - Number(written))
      break
    }
  }
  await dispatcher.destroy()
  const [p50, p99] = [quantile(late, 0.5), quantile(late, 0.99)].map((ms) => ms.toFixed(2))
  console.log(`${system.name}: first word after ${p50} ms, p99 ${p99}, of ${late.length} streams`)
}

async function openSessions(system: System, sessions: number): Promise<void> {
  const tell = async (when: string): Promise<void> => {
    const { rss, live = NaN } = await ask<{ rss: number; live?: number }>(system.child!, 'live')
    console.log(`${when}: ${(rss / 1e6).toFixed(0)} MB resident, ${(live / 1e6).toFixed(1)} MB live`)
  }
  await measure(system, conversations(8_000, 100, 3, 'warm'), 10)
  await tell('before')
  await measure(system, conversations(8_000, sessions, 3, 'open'), 10)
  await tell(`${sessions} sessions more`)
}

const ask = <T>(child: ChildProcess, wanted: 'resident' | 'live'): Promise<T> =>
  new Promise((resolve) => {
    child.once('message', (message) => resolve(message as T))
    child.send(wanted)
  })

const upstream = await forkOne('upstream.ts', [])
const upstreamUrl = `http://127.0.0.1:${upstream.port}`
async function startPlimsoll(name: string, tools: boolean, telemetry = false): Promise<System> {
  const { child, port } = await forkOne(
    'plimsoll.ts',
    [upstreamUrl, optionOf('store') ?? '', tools ? '' : 'no-tools'],
    [
      ...(tools && process.argv.includes('--profile') ? ['--cpu-prof', '--cpu-prof-interval', '200'] : []),
      ...(['--memory', '--open'].some((flag) => process.argv.includes(flag)) ? ['--expose-gc'] : []),
      ...(telemetry ? ['--import', join(folder, 'proxy', 'telemetry.ts')] : []),
    ],
  )
  return { name, url: `http://127.0.0.1:${port}/openai/v1`, headers: {}, child, pid: child.pid }
}
const ours = await startPlimsoll('plimsoll', true)
try {
  if (process.argv.includes('--memory')) await memory(ours)
  else if (process.argv.includes('--open')) await openSessions(ours, Number(optionOf('open')))
  else {
    const bare = await forkOne('bare.ts', [upstreamUrl])
    const direct: System = { name: 'direct', url: `${upstreamUrl}/v1`, headers: {} }
    const url = `http://127.0.0.1:${bare.port}/v1`
    const plain: System = { name: 'bare', url, headers: {}, child: bare.child, pid: bare.child.pid }
    if (process.argv.includes('--streams')) {
      await streams([direct, plain, ours])
    } else if (process.argv.includes('--first-word')) {
      for (const system of [direct, plain, ours, direct, plain, ours]) await firstWords(system)
    } else if (process.argv.includes('--telemetry')) {
      await compare([direct, ours, await startPlimsoll('with telemetry', true, true)])
    } else await compare([direct, plain, await startPlimsoll('untouched', false), ours])
  }
} finally {
  for (const child of started) child.kill('SIGTERM')
}

async function compare(systems: readonly System[]): Promise<void> {
  const isAlone = ['--no-portkey', '--telemetry'].some((flag) => process.argv.includes(flag))
  const portkey = isAlone ? undefined : await startPortkey(upstreamUrl)
  console.log(
    '| body | connections | system | p50 ms | p99 ms | added p50 | added p99 | CPU ms |\n|---|---|---|---|---|---|---|---|',
  )
  await table([...systems, ...(portkey === undefined ? [] : [portkey])])
}

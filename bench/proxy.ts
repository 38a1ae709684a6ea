/**
 * What a proxy adds, side by side in one run: Plimsoll with all guards on, a bare Node pass-through, and Portkey's gateway.
 *
 *   npm run bench:proxy                the table of added latency
 *   npm run bench:proxy -- --memory    memory over 10,000 requests
 *   npm run bench:proxy -- --streams   500 event streams at once, beside the bare proxy
 *   npm run bench:proxy -- --size 150 --connections 1 --rounds 4   one row, with more of it
 *   npm run bench:proxy -- --store memory:   without the embedded store's disk
 *   npm run bench:proxy -- --profile   a .cpuprofile of Plimsoll in the current folder
 */
import { execFileSync, fork, spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { bodiesOf } from './proxy/bodies.ts'

interface System {
  readonly name: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly child?: ChildProcess
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
  const peers = join(folder, '.peers')
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
    started.push(spawn(process.execPath, [entry, `--port=${port}`, '--headless'], { stdio: 'ignore' }))
    const url = `http://127.0.0.1:${port}`
    await reachable(url)
    return {
      name: 'portkey',
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

/** Latencies in ms of all turns of all sessions, `connections` at a time, each session in its order. */
async function measure(system: System, bodies: readonly (readonly Buffer[])[], connections: number): Promise<number[]> {
  const dispatcher = new Agent({ connections, pipelining: 1 })
  const latencies: number[] = []
  const queue = [...bodies]
  const worker = async (): Promise<void> => {
    for (let session = queue.shift(); session !== undefined; session = queue.shift()) {
      for (const body of session) {
        const startedAt = performance.now()
        const answer = await request(`${system.url}/chat/completions`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: 'Bearer sk-bench', ...system.headers },
          body,
          dispatcher,
        })
        const text = await answer.body.text()
        if (answer.statusCode !== 200) throw new Error(`${system.name}: ${answer.statusCode} ${text.slice(0, 300)}`)
        latencies.push(performance.now() - startedAt)
      }
    }
  }
  await Promise.all(Array.from({ length: connections }, worker))
  await dispatcher.close()
  return latencies.sort((a, b) => a - b)
}

const quantile = (sorted: readonly number[], q: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? NaN

const SIZES = [
  { name: '1 KB', bytes: 1_000, turns: 12 },
  { name: '150 KB', bytes: 150_000, turns: 6 },
  { name: '2 MB', bytes: 2_000_000, turns: 2 },
] as const

async function table(systems: readonly System[]): Promise<void> {
  const rows: string[] = []
  const [size, only] = [optionOf('size'), optionOf('connections')]
  const rounds = Number(optionOf('rounds') ?? 1)
  for (const { name, bytes, turns } of SIZES) {
    for (const connections of [1, 16, 64]) {
      if (
        (size !== undefined && !name.startsWith(`${size} `)) ||
        (only !== undefined && Number(only) !== connections)
      ) {
        continue
      }
      if (bytes > 1_000_000 && connections === 64) continue
      const sessions = bytes > 1_000_000 ? Math.max(4, connections) : Math.max(12, connections)
      const results = new Map<string, number[]>()
      // Twice at least, the first time does not count: caches, connections and compiled code are warm for everybody.
      for (let round = 0; round <= rounds; round++) {
        for (const system of systems) {
          const bodies = bodiesOf(bytes, sessions, turns).map((session, i) =>
            session.map((body) =>
              Buffer.from(body.toString().replaceAll(`Task ${i}:`, `Task ${round} ${connections} ${i}:`)),
            ),
          )
          const found = await measure(system, bodies, connections)
          const before = round <= 1 ? [] : results.get(system.name)!
          results.set(
            system.name,
            [...before, ...found].sort((a, b) => a - b),
          )
        }
      }
      const direct = results.get('direct')!
      for (const system of systems) {
        const found = results.get(system.name)!
        const [p50, p99] = [quantile(found, 0.5), quantile(found, 0.99)]
        const added = [p50 - quantile(direct, 0.5), p99 - quantile(direct, 0.99)]
        rows.push(
          `| ${name} | ${connections} | ${system.name} | ${p50.toFixed(1)} | ${p99.toFixed(1)} | ${system.name === 'direct' ? '' : `${added[0]!.toFixed(1)} | ${added[1]!.toFixed(1)}`} |`,
        )
        console.log(rows.at(-1))
      }
    }
  }
}

async function memory(system: System): Promise<void> {
  const bodies = bodiesOf(8_000, 100, 100)
  for (let done = 0; done < bodies.length; done += 10) {
    await measure(system, bodies.slice(done, done + 10), 10)
    const { rss } = await ask<{ rss: number }>(system.child!)
    console.log(`| ${(done + 10) * 100} requests | ${(rss / 1e6).toFixed(0)} MB |`)
  }
}

async function streams(systems: readonly System[]): Promise<void> {
  // Twice, the second time counts.
  for (const round of ['warm', 'measured']) for (const system of systems) await streamsOf(system, round)
}

async function streamsOf(system: System, round: string): Promise<void> {
  const dispatcher = new Agent({ connections: 500, pipelining: 1 })
  const bodies = bodiesOf(1_000, 500, 1)
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
    system.child === undefined ? '' : `, ${((await ask<{ rss: number }>(system.child)).rss / 1e6).toFixed(0)} MB`
  console.log(`${system.name} (${round}): ${ends.filter(Boolean).length} of 500 streams complete in ${seconds} s${rss}`)
  await dispatcher.close()
}

const ask = <T>(child: ChildProcess): Promise<T> =>
  new Promise((resolve) => {
    child.once('message', (message) => resolve(message as T))
    child.send('memory')
  })

const upstream = await forkOne('upstream.ts', [])
const upstreamUrl = `http://127.0.0.1:${upstream.port}`
const plimsoll = await forkOne(
  'plimsoll.ts',
  [upstreamUrl, optionOf('store') ?? ''],
  process.argv.includes('--profile') ? ['--cpu-prof', '--cpu-prof-interval', '200'] : [],
)
const ours: System = {
  name: 'plimsoll',
  url: `http://127.0.0.1:${plimsoll.port}/openai/v1`,
  headers: {},
  child: plimsoll.child,
}
try {
  if (process.argv.includes('--memory')) await memory(ours)
  else {
    const bare = await forkOne('bare.ts', [upstreamUrl])
    const direct: System = { name: 'direct', url: `${upstreamUrl}/v1`, headers: {} }
    const plain: System = { name: 'bare', url: `http://127.0.0.1:${bare.port}/v1`, headers: {} }
    if (process.argv.includes('--streams')) {
      await streams([direct, plain, ours])
    } else await compare([direct, plain, ours])
  }
} finally {
  for (const child of started) child.kill('SIGTERM')
}

async function compare(systems: readonly System[]): Promise<void> {
  const portkey = process.argv.includes('--no-portkey') ? undefined : await startPortkey(upstreamUrl)
  console.log(
    '| body | connections | system | p50 ms | p99 ms | added p50 | added p99 |\n|---|---|---|---|---|---|---|',
  )
  await table([...systems, ...(portkey === undefined ? [] : [portkey])])
}

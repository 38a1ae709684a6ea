/**
 * Real coding agents, unmodified, against an upstream that enforces 60k while they believe in 1M: thirty shell steps of 64 KB
 * each. `npm run test:clients [-- names] [--bare]`; `--bare` runs them without the proxy, to see how they fare alone.
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPlimsoll } from '../../src/index.ts'
import type { Gateway } from '../../src/surfaces/gateway/gateway.ts'
import { startProxy, type ProxyLine } from '../../src/surfaces/gateway/proxy.ts'
import { call, say, startReferee, type Script } from '../../src/testing/referee/index.ts'
import { CODING_AGENTS, type CodingAgent } from './agents.ts'
import { installAgents } from './install.ts'

const STEPS = Number(process.env['STEPS'] ?? 30)
const WINDOW = 60_000
const TASK = 'Read the logs one after another and tell me what is wrong.'
const TIMEOUT_MS = 8 * 60_000

/** 64 KB that differ from step to step. */
const command = (step: number): string =>
  `node -e 'for(let i=0;i<820;i++)console.log("${String(step).padStart(2, '0')}:"+i+" order="+(i*7919+${step}*104729)%1000003+" service=checkout-"+i%5+" handled in "+i*31%900+" ms, pool 17/20")'`

function scriptOf(agent: CodingAgent): Script {
  let step = 0
  return ({ tools }) => {
    // Titles and other side questions come without tools.
    if (!tools.includes(agent.shell.tool)) return say('Log reading')
    step += 1
    if (step > STEPS) return say('All logs are read: the pool is exhausted.')
    return call(agent.shell.tool, agent.shell.input(command(step)), `Log ${step}.`)
  }
}

interface Outcome {
  readonly agent: string
  readonly way: 'bare' | 'proxy'
  readonly exit: number
  readonly finished: boolean
  readonly stepsAnswered: number
  readonly errorsSeenByAgent: number
  readonly overflowsAtUpstream: number
  /** Requests that broke a rule after we had changed them. */
  readonly invalidOfOurs: number
  /** Requests that broke a rule exactly as the agent wrote them; gemini-cli's loop detection sends one. */
  readonly invalidOfAgent: number
  readonly epochs: number
  readonly peakInputTokens: number
  readonly seconds: number
}

async function run(agent: CodingAgent, bare: boolean): Promise<{ outcome: Outcome; output: string }> {
  const home = mkdtempSync(join(tmpdir(), `plimsoll-${agent.name}-`))
  mkdirSync(join(home, 'work'), { recursive: true })
  const referee = await startReferee({
    wire: agent.wire,
    window: WINDOW,
    script: scriptOf(agent),
    models: [agent.model],
  })
  const lines: ProxyLine[] = []
  let epochs = 0
  const plimsoll = createPlimsoll({
    store: `sqlite:${join(home, 'plimsoll.db')}`,
    onEvent: (event) => void (event.type === 'epoch-declared' && epochs++),
  })
  // What the agent itself sent, to tell its own mistakes from ours.
  const own = new Set<string>()
  const gateway: Gateway = {
    ...plimsoll.gateway,
    handle(request, upstream) {
      own.add(digest(request.body))
      return plimsoll.gateway.handle(request, upstream)
    },
  }
  const proxy = await startProxy(gateway, {
    port: 0,
    upstreams: { [agent.prefix]: referee.url },
    onRequest: (line) => lines.push(line),
    drainMs: 1_000,
  })
  const base = bare ? referee.url : `${proxy.url}/${agent.prefix}`
  const { args, env } = agent.command({ home, base, task: TASK })
  const startedAt = Date.now()
  const { exit, output } = await runChild(
    args,
    { PATH: process.env['PATH'] ?? '', HOME: home, TERM: 'dumb', ...env },
    join(home, 'work'),
  )
  const { overflows, peakInputTokens } = referee.summary()
  const generated = referee.log.filter((exchange) => exchange.kind === 'generate')
  const stepsAnswered = generated.filter((exchange) =>
    exchange.answer?.parts.some((part) => part.type === 'call'),
  ).length
  const invalid = generated.filter((exchange) => exchange.violations.length > 0)
  const invalidOfAgent = invalid.filter((exchange) => bare || own.has(digest(exchange.raw))).length
  const refused = bare
    ? generated.filter((exchange) => exchange.status >= 400).length
    : lines.filter((line) => line.method === 'POST' && (line.status >= 400 || line.error !== undefined)).length
  const outcome: Outcome = {
    agent: agent.name,
    way: bare ? 'bare' : 'proxy',
    exit,
    finished: output.includes('the pool is exhausted'),
    stepsAnswered,
    errorsSeenByAgent: refused - invalidOfAgent,
    overflowsAtUpstream: overflows,
    invalidOfOurs: invalid.length - invalidOfAgent,
    invalidOfAgent,
    epochs,
    peakInputTokens,
    seconds: Math.round((Date.now() - startedAt) / 1000),
  }
  if (process.env['KEEP'] !== undefined) {
    for (const exchange of referee.log)
      for (const violation of exchange.violations) console.error(agent.name, exchange.number, violation)
    for (const line of lines) if (line.status >= 400) console.error(agent.name, line)
  }
  await proxy.close()
  await plimsoll.close()
  await referee.close()
  rmSync(home, { recursive: true, force: true, maxRetries: 3 })
  return { outcome, output }
}

const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

function runChild(
  [file = '', ...args]: readonly string[],
  env: Record<string, string>,
  cwd: string,
): Promise<{ exit: number; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(file, args, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] })
    const chunks: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk))
    const timer = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS)
    child.once('exit', (code) => {
      clearTimeout(timer)
      resolve({ exit: code ?? -1, output: Buffer.concat(chunks).toString() })
    })
  })
}

const words = process.argv.slice(2)
const bare = words.includes('--bare')
const wanted = words.filter((word) => !word.startsWith('--'))
installAgents()
let failed = false
for (const agent of CODING_AGENTS.filter(({ name }) => wanted.length === 0 || wanted.includes(name))) {
  const { outcome, output } = await run(agent, bare)
  console.log(JSON.stringify(outcome))
  const good =
    outcome.exit === 0 &&
    outcome.finished &&
    outcome.stepsAnswered >= STEPS &&
    outcome.errorsSeenByAgent === 0 &&
    outcome.invalidOfOurs === 0
  if (bare || good) continue
  failed = true
  console.error(`${agent.name} did not get through. The end of what it said:\n${output.slice(-2_000)}`)
}
process.exitCode = failed ? 1 : 0

/**
 * Real coding agents, unmodified, started by `plimsoll run` against an upstream that enforces 60k while they believe in more: thirty shell
 * steps of 64 KB each. `npm run test:clients [-- names]`. `STEPS=5` makes them fewer, `KEEP=1` says more.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { call, say, startReferee, type Script } from '../../src/testing/referee/index.ts'
import { CODING_AGENTS, type CodingAgent } from './agents.ts'
import { installAgents } from './install.ts'
import { runChild } from './run-child.ts'

/** As it is published; the npm script builds it first. */
const BINARY = join(import.meta.dirname, '../../dist/cli/main.js')
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
  readonly exit: number
  readonly finished: boolean
  readonly stepsAnswered: number
  readonly refused: number
  readonly overflowsAtUpstream: number
  /** Requests that broke a rule after we had changed them. */
  readonly invalidOfOurs: number
  /** Side questions without tools that broke a rule; gemini-cli's loop detection sends one that begins with the model. */
  readonly invalidOfAgent: number
  readonly peakInputTokens: number
  readonly seconds: number
}

async function run(agent: CodingAgent): Promise<{ outcome: Outcome; output: string }> {
  const home = mkdtempSync(join(tmpdir(), `plimsoll-${agent.name}-`))
  mkdirSync(join(home, 'work'), { recursive: true })
  const referee = await startReferee({
    wire: agent.wire,
    window: WINDOW,
    script: scriptOf(agent),
    models: [agent.model],
  })
  const { args, env } = agent.command({ home, task: TASK })
  const store = `sqlite:${join(home, 'plimsoll.db')}`
  const own = ['run', '--window', String(WINDOW), `--${agent.prefix}`, referee.url, '--store', store, '--']
  const startedAt = Date.now()
  const { exit, output } = await runChild(
    [process.execPath, BINARY, ...own, ...args],
    { PATH: process.env['PATH'] ?? '', HOME: home, TERM: 'dumb', PLIMSOLL_HOME: home, ...env },
    { cwd: join(home, 'work'), timeoutMs: TIMEOUT_MS },
  )
  const { overflows, peakInputTokens } = referee.summary()
  const generated = referee.log.filter((exchange) => exchange.kind === 'generate')
  const stepsAnswered = generated.filter((exchange) =>
    exchange.answer?.parts.some((part) => part.type === 'call'),
  ).length
  const invalid = generated.filter((exchange) => exchange.violations.length > 0)
  const invalidOfAgent = invalid.filter(
    ({ raw }) => !('tools' in (JSON.parse(Buffer.from(raw).toString()) as object)),
  ).length
  const outcome: Outcome = {
    agent: agent.name,
    exit,
    finished: output.includes('the pool is exhausted'),
    stepsAnswered,
    refused: generated.filter((exchange) => exchange.status >= 400 && exchange.violations.length === 0).length,
    overflowsAtUpstream: overflows,
    invalidOfOurs: invalid.length - invalidOfAgent,
    invalidOfAgent,
    peakInputTokens,
    seconds: Math.round((Date.now() - startedAt) / 1000),
  }
  if (process.env['KEEP'] !== undefined) {
    console.error(output)
    for (const exchange of referee.log)
      for (const violation of exchange.violations) console.error(agent.name, exchange.number, violation)
  }
  await referee.close()
  rmSync(home, { recursive: true, force: true, maxRetries: 3 })
  return { outcome, output }
}

const words = process.argv.slice(2)
const wanted = words.filter((word) => !word.startsWith('--'))
installAgents()
let failed = false
for (const agent of CODING_AGENTS.filter(({ name }) => wanted.length === 0 || wanted.includes(name))) {
  const { outcome, output } = await run(agent)
  console.log(JSON.stringify(outcome))
  const good =
    outcome.exit === 0 &&
    outcome.finished &&
    outcome.stepsAnswered >= STEPS &&
    outcome.refused === 0 &&
    outcome.invalidOfOurs === 0
  if (good) continue
  failed = true
  console.error(`${agent.name} did not get through. The end of what it said:\n${output.slice(-2_000)}`)
}
process.exitCode = failed ? 1 : 0

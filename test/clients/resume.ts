/**
 * `plimsoll handoff --to …` and the client itself, which resumes what was written: its next request has to hold the handover.
 * `npm run test:handoff [-- names]`.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPlimsoll } from '../../src/index.ts'
import { say, startReferee } from '../../src/testing/referee/index.ts'
import { toolLoop } from '../support/anthropic-loop.ts'
import { CODING_AGENTS, type CodingAgent } from './agents.ts'
import { installAgents } from './install.ts'
import { runChild } from './run-child.ts'

const BINARY = join(import.meta.dirname, '../../dist/cli/main.js')
const TASK = 'Go on with what the handover says.'
const DEMAND = 'Never touch the folder migrations.'
const ANSWER = 'I go on, and leave migrations alone.'
const TIMEOUT_MS = 3 * 60_000

interface Written {
  readonly id: string
  readonly file: string
}

/** How each client is told to resume, with its own arguments for the rest. */
const RESUMES: Readonly<Record<string, (args: readonly string[], written: Written) => readonly string[]>> = {
  'claude-code': ([file, ...rest], { id }) => [file!, '--resume', id, ...rest],
  codex: ([file, exec, ...rest], { id }) => [file!, exec!, 'resume', ...rest.slice(0, -1), id, rest.at(-1)!],
  pi: ([program, ...rest], { file }) => [program!, '--session', file, ...rest],
}

/** A session that was compacted, in a store. */
async function seed(store: string): Promise<void> {
  const plimsoll = createPlimsoll({ store })
  const body = toolLoop({ steps: 40 })
  body.messages[0]!.content = `Read every file and tell me what is wrong. ${DEMAND}`
  const request = { format: 'anthropic-messages', body, targets: [{ model: 'claude-sonnet-4-5', window: 8_000 }] }
  const session = plimsoll.session({ id: 'run-42' })
  await session.prepare(request)
  await plimsoll.close()
}

async function resume(agent: CodingAgent): Promise<string | undefined> {
  const home = mkdtempSync(join(tmpdir(), `plimsoll-${agent.name}-`))
  const work = join(home, 'work')
  mkdirSync(work, { recursive: true })
  const store = `sqlite:${join(home, 'plimsoll.db')}`
  await seed(store)
  const referee = await startReferee({
    wire: agent.wire,
    window: 200_000,
    script: () => say(ANSWER),
    models: [agent.model],
  })
  const { args, env } = agent.command({ home, task: TASK })
  const own = { PATH: process.env['PATH'] ?? '', HOME: home, TERM: 'dumb', PLIMSOLL_HOME: home, ...env }
  const run = (command: readonly string[]): ReturnType<typeof runChild> =>
    runChild([process.execPath, BINARY, ...command], own, { cwd: work, timeoutMs: TIMEOUT_MS })
  try {
    const client = agent.name === 'claude-code' ? 'claude' : agent.name
    const written = await run(['handoff', 'run-42', '--to', client, '--store', store, '--json'])
    if (written.exit !== 0) return written.output
    const resumed = RESUMES[agent.name]!(args, JSON.parse(written.output) as Written)
    const { exit, output } = await run([
      'run',
      `--${agent.prefix}`,
      referee.url,
      '--store',
      'memory:',
      '--',
      ...resumed,
    ])
    const asked = referee.log.map(({ raw }) => Buffer.from(raw).toString())
    const isHeld = asked.some((text) => text.includes(DEMAND) && text.includes('You take over') && text.includes(TASK))
    if (exit === 0 && isHeld && output.includes(ANSWER)) return undefined
    return `exit ${exit}; ${asked.length} requests, the handover ${isHeld ? 'was' : 'was not'} among them\n${output.slice(-2_000)}`
  } finally {
    await referee.close()
    rmSync(home, { recursive: true, force: true, maxRetries: 3 })
  }
}

const wanted = process.argv.slice(2)
installAgents()
for (const agent of CODING_AGENTS.filter(
  ({ name }) => name in RESUMES && (wanted.length === 0 || wanted.includes(name)),
)) {
  const problem = await resume(agent)
  console.log(`${agent.name}: ${problem === undefined ? 'resumed the handover' : 'did not resume it'}`)
  if (problem === undefined) continue
  process.exitCode = 1
  console.error(problem)
}

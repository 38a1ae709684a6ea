import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Plimsoll } from '../src/index.ts'
import { say, startReferee, type RunningReferee, type Script } from '../src/testing/referee/index.ts'
import { LOGS, logOf, scriptOf, WINDOW, type ScriptOptions } from '../test/adapters/scenario.ts'
import { runChild } from '../test/clients/run-child.ts'

/** What ships: agents load it as an installed package, and so it was built before. */
const DIST = join(import.meta.dirname, '../dist')
export const bin = (name: string): string => join(import.meta.dirname, 'node_modules', name)

type Sessions = ReturnType<Plimsoll['ledger']['sessions']>

/** A coding agent as a process of its own in an empty project, in front of a provider that enforces the window. */
export interface AgentProcess {
  readonly home: string
  readonly work: string
  readonly referee: RunningReferee
  /** Where its extension writes what the ledger holds. */
  readonly ledgerFile: string
  write(path: string, content: string | object): void
  run(command: readonly string[], env?: Record<string, string>): Promise<{ exit: number; output: string }>
  /** What its extension has booked. */
  readonly plimsoll: { readonly ledger: { sessions(): Sessions }; close(): Promise<void> }
  close(): Promise<void>
}

/** Longer than a minute has none of them taken. */
const TIMEOUT_MS = 4 * 60_000

export async function agentProcess(name: string, options: ScriptOptions): Promise<AgentProcess> {
  const home = mkdtempSync(join(tmpdir(), `plimsoll-${name}-`))
  const work = join(home, 'work')
  mkdirSync(work)
  for (const step of LOGS) writeFileSync(join(work, fileOf(step)), logOf(step))
  const referee = await startReferee({
    wire: 'openai-chat',
    window: WINDOW,
    script: countingSteps(scriptOf(options)),
    models: ['gpt-4.1'],
  })
  const ledgerFile = join(home, 'ledger.json')
  return {
    home,
    work,
    referee,
    ledgerFile,
    write(path, content) {
      mkdirSync(join(home, path, '..'), { recursive: true })
      writeFileSync(join(home, path), typeof content === 'string' ? content : JSON.stringify(content))
    },
    run: (command, env = {}) =>
      runChild(
        command,
        { PATH: process.env['PATH'] ?? '', HOME: home, TERM: 'dumb', ...env },
        { cwd: work, timeoutMs: TIMEOUT_MS },
      ),
    plimsoll: {
      ledger: { sessions: () => JSON.parse(readFileSync(ledgerFile, 'utf8')) as Sessions },
      close: async () => undefined,
    },
    async close() {
      await referee.close()
      rmSync(home, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}

/** Titles and other side questions come without tools, and are no steps. */
function countingSteps(script: ReturnType<typeof scriptOf>): Script {
  let number = 0
  return (turn) => (turn.tools.length === 0 ? say('Slow checkout') : script({ ...turn, number: ++number }))
}

/** A module that an agent loads: Plimsoll as it ships, with one line more that saves the ledger. */
export const moduleOf = (adapter: string, ledgerFile: string, options: string, rest: string): string =>
  `import { writeFileSync } from 'node:fs'
import { createPlimsoll } from '${DIST}/index.js'
import { ${adapter === 'pi' ? 'plimsollExtension' : 'plimsollPlugin'} } from '${DIST}/adapters/${adapter}.js'

const plimsoll = createPlimsoll(${options})
plimsoll.on(({ type }) => {
  if (type === 'usage-recorded') writeFileSync('${ledgerFile}', JSON.stringify(plimsoll.ledger.sessions()))
})
${rest}
`

/** The file that holds a step's log. */
export const fileOf = (step: number): string => `log-${step}.txt`

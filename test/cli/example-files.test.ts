import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ROOT } from './support/binary.ts'
import { seedHome, type SeededHome } from './support/seeded-home.ts'
import { runLine } from './support/shell.ts'

let home: SeededHome
beforeAll(async () => {
  home = await seedHome()
})
afterAll(() => home.remove())

const EXAMPLES = join(ROOT, 'examples')
const SAYS: Readonly<Record<string, RegExp>> = {
  '01-any-sdk.ts': /40 turns: 0 overflows, 0 invalid/,
  '02-three-verbs.ts': /The disk of node 7 is full\.\n0 overflows, 0 invalid/,
  '03-inspect-and-replay.sh': /Where the tokens went[^]*0 overflows, 0 invalid, 0 lost/,
  '04-ai-sdk.ts': /The disk of node 7 is full\.\n0 overflows, 0 invalid; 41 messages, all whole/,
  '05-langchain.ts': /The disk of node 7 is full\.\n0 overflows, 0 invalid; 42 messages in the state, all whole/,
  '06-openai-agents.ts': /The disk of node 7 is full\.\n0 overflows, 0 invalid; 42 items in the session, all whole/,
  '08-autosre.ts': /0 overflows, 0 invalid; 1500 log entries told as statistics/,
  '09-cyber-autoagent.ts': /messages in place: true; removed and left are all: true/,
  '10-contextguard.ts': /5 keys; compacted: true; never above 8,000: true/,
  '11-adk-code.ts': /compacted: true; 60 cuts; below 95 %: true/,
  '12-ai-agent.ts': /limit 23904: proceed with 2 tools, then final with agent__final_report; the report runs: true/,
  '07-opencode.ts': /0 overflows, 0 invalid; session ses_1/,
}

function run(name: string): Promise<{ code: number | null; output: string }> {
  if (name.endsWith('.sh')) return runLine(home, `${join(EXAMPLES, name)} session.jsonl`)
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--import', 'tsx', join(EXAMPLES, name)], { cwd: ROOT })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text))
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, output }))
  })
}

describe('the example files', () => {
  it.each(readdirSync(EXAMPLES))('%s runs and says what it should', async (name) => {
    const { code, output } = await run(name)
    expect(code, output).toBe(0)
    expect(output).toMatch(SAYS[name]!)
  })
})

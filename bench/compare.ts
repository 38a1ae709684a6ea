/**
 * Context managers on the same recorded sessions: one count of tokens, one referee, one price list, one run.
 *
 *   npm run bench                        three sessions that come with the project, a window of 32k
 *   npm run bench -- my-session.jsonl    your own, in any format that `plimsoll inspect` reads
 *   npm run bench -- --windows 64k,32k --only plimsoll,mastra
 *   npm run bench:full                   every Claude Code session of the shared data (PLIMSOLL_SHARED), 64k and 32k
 *   npm run bench -- --write             also docs/benchmarks.md and the table in the README
 */
import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { tokenCounts } from '../src/cli/option-values.ts'
import { engine } from './compare/engine.ts'
import { frameworkManagers } from './compare/frameworks.ts'
import { growth } from './compare/growth.ts'
import { installPeers } from './compare/install.ts'
import { langchainManagers } from './compare/langchain.ts'
import { measure, runnerOf, type Runner } from './compare/measure.ts'
import { printTable, writePages, type Result, type Run } from './compare/page.ts'
import { cline, none, pi } from './compare/rules.ts'
import { sessionsIn } from './compare/sessions.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    windows: { type: 'string' },
    only: { type: 'string' },
    full: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})

const shared = process.env['PLIMSOLL_SHARED'] ?? resolve(import.meta.dirname, '../../shared')
const folder = values.full ? join(shared, 'data/transcripts/claude-code') : join(import.meta.dirname, 'sessions')
const files =
  positionals.length > 0
    ? positionals
    : readdirSync(folder)
        .filter((name) => name.endsWith('.gz'))
        .sort()
        .map((name) => join(folder, name))
const windows = tokenCounts(values.windows ?? (values.full ? '64k,32k' : '32k'))

const spent = { usd: 0 }
const PRESETS = ['autosre', 'cyber-autoagent', 'contextguard', 'adk-code', 'ai-agent'] as const

async function runners(): Promise<readonly Runner[]> {
  installPeers()
  const managers = [none, ...(await langchainManagers()), ...(await frameworkManagers()), cline, pi]
  return [
    ...managers.map((manager) => runnerOf(manager, spent)),
    ...PRESETS.map((preset) => engine(preset, `preset ${preset}`, 'in Plimsoll, by its document')),
    engine('plimsoll', 'Plimsoll', 'the default policy'),
  ]
}

const wanted = values.only?.split(',')
const all = (await runners()).filter(
  ({ name }) => wanted === undefined || wanted.some((word) => name.toLowerCase().includes(word.toLowerCase())),
)
const sessions = await sessionsIn(files)
const results: Result[] = []
for (const window of windows) {
  for (const runner of all) {
    const started = performance.now()
    const figures = await measure(runner, sessions, window, spent).catch((error: unknown) => {
      console.error(`${runner.name} failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
      process.exitCode = 1
    })
    if (figures !== undefined) results.push({ window, runner, figures })
    console.error(`${window} ${runner.name}: ${Math.round((performance.now() - started) / 1000)} s`)
  }
}
const calls = sessions.reduce((sum, { recording }) => sum + recording.calls.length, 0)
const run: Run = {
  // Of made histories: not asked for when somebody looks at a file or at one manager.
  ...(positionals.length === 0 && wanted === undefined && { growth: await growth() }),
  sessions: sessions.length,
  calls,
  results: results.map(({ window, runner: { name, setup, from }, figures }) => ({
    window,
    runner: { name, setup, ...(from !== undefined && { from }) },
    figures,
  })),
}
if (values.json) console.log(JSON.stringify(run, null, 2))
else printTable(run)
if (values.write) writePages(run)

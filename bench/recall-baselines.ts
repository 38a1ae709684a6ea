/**
 * Simple context managers on real Claude Code sessions: how much of what the next answer needed is still in view, and what the
 * session's input costs under Sonnet 4.5 cache prices.
 *
 *   npx tsx bench/recall-baselines.ts [--chars 2.29] [--per-call 0] [--head 0] [--parallel as-written|merged]
 *
 * `--chars` characters make a token, each tool call costs `--per-call` more, and `--head` tokens of system and tools stand before
 * every request. The figures after "reference" were measured elsewhere on the same sessions.
 */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { byCharacters, loadSessions, measure, type Figures } from './baselines.ts'
import { MANAGERS } from './simple-managers.ts'

const REFERENCE: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  'send everything': { 64_000: '1 / 1, $108, 2121 over', 32_000: '1 / 1, $108, 2603 over' },
  'last messages that fit': { 64_000: '0.959 / 0.977, $199, 0 over', 32_000: '0.866 / 0.914, $118, 3 over' },
  'clear old tool results when over': {
    64_000: '0.971 / 0.983, $197, 216 over',
    32_000: '0.954 / 0.975, $144, 1376 over',
  },
  'first + last, cut to 50 % when full': { 64_000: '0.934 / 0.962, $53, 0 over', 32_000: '0.831 / 0.901, $33, 3 over' },
  'clear by value down to 50 %, sticky': { 64_000: '0.966 / 0.981, $60, 1 over', 32_000: '0.868 / 0.925, $41, 7 over' },
}

function inWords({ recall, costUsd, over, taskKept }: Figures): string {
  const { quoteRecall, nameRecall } = recall
  return [
    `${share(quoteRecall)} / ${share(nameRecall)}`,
    `$${costUsd.toFixed(1)}`,
    `${over} over`,
    `task in ${Math.round(100 * taskKept)} %`,
  ].join(', ')
}

const share = (value: number): string => value.toFixed(3)

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      chars: { type: 'string', default: '2.29' },
      'per-call': { type: 'string', default: '0' },
      head: { type: 'string', default: '0' },
      parallel: { type: 'string', default: 'as-written' },
    },
  })
  const shared = process.env['PLIMSOLL_SHARED'] ?? resolve(import.meta.dirname, '../../shared')
  const folder = join(shared, 'data/transcripts/claude-code')
  if (!existsSync(folder)) {
    console.error(`${folder} is absent. Set PLIMSOLL_SHARED to the folder that holds data/transcripts.`)
    process.exitCode = 1
    return
  }
  const counting = byCharacters(Number(values.chars), Number(values['per-call']))
  const parallel = values.parallel === 'merged' ? 'merged' : 'as-written'
  const sessions = await loadSessions(folder, counting, parallel)
  const calls = sessions.reduce((sum, session) => sum + session.recording.calls.length, 0)
  console.log(
    `${sessions.length} sessions, ${calls} calls; ${values.chars} characters a token, ${values['per-call']} for each call, head ${values.head}`,
  )
  for (const window of [64_000, 32_000]) {
    console.log(`\n${window} tokens: quote / name recall`)
    for (const manager of MANAGERS) {
      const figures = inWords(measure(manager, window, Number(values.head), sessions, counting.count))
      console.log(`  ${manager.name.padEnd(37)}${figures.padEnd(80)} reference ${REFERENCE[manager.name]?.[window]}`)
    }
  }
}

await main()

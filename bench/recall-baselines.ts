/**
 * Simple context managers on real Claude Code sessions: how much of what the next answer needed is still in view, and what the
 * session's input costs under Sonnet 4.5 cache prices.
 *
 *   npx tsx bench/recall-baselines.ts [--chars 2.29] [--per-call 0] [--head 0] [--parallel as-written|merged]
 *
 * `--chars` characters make a token, each tool call costs `--per-call` more, and `--head` tokens of system and tools stand before
 * every request. The figures after "reference" were measured elsewhere on the same sessions.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

import type { PriceModel } from '../src/core/price.ts'
import { RecallIndex } from '../src/engine/replay/recall.ts'
import { SessionPricer } from '../src/engine/replay/session-price.ts'
import type { SentPiece } from '../src/engine/replay/session-price.ts'
import { readableText } from '../src/engine/replay/source.ts'
import { RecallTally } from '../src/engine/replay/tally.ts'
import { loadFile } from '../src/formats/transcripts/load.ts'
import type { Recording } from '../src/formats/transcripts/recording.ts'
import { MANAGERS, tokensOf } from './simple-managers.ts'
import type { Manager, Message } from './simple-managers.ts'

const SONNET_4_5: PriceModel = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75, caching: 'marks' }

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

interface Session {
  readonly recording: Recording
  readonly index: RecallIndex
  readonly messages: readonly Message[]
  readonly pieces: readonly { readonly whole: SentPiece; readonly cleared: SentPiece }[]
}

interface Counting {
  readonly charactersPerToken: number
  readonly perCall: number
}

function sessionOf(recording: Recording, { charactersPerToken, perCall }: Counting): Session {
  const messages = recording.messages.map((message, index): Message => {
    const texts = message.parts.map(readableText)
    const cleared = message.parts.map((part, at) => (part.kind === 'result' ? '[cleared]' : (texts[at] as string)))
    const calls = message.parts.filter((part) => part.kind === 'call').length
    const count = (all: readonly string[]) =>
      all.reduce((total, text) => total + text.length / charactersPerToken, calls * perCall)
    const isResult = message.parts.some((part) => part.kind === 'result')
    return { index, texts, tokens: count(texts), isResult, cleared: { texts: cleared, tokens: count(cleared) } }
  })
  const pieces = messages.map((message) => ({
    whole: { text: `${message.index}`, tokens: message.tokens },
    cleared: { text: `${message.index} cleared`, tokens: message.cleared.tokens },
  }))
  return { recording, index: new RecallIndex(recording), messages, pieces }
}

const share = (value: number): string => value.toFixed(3)

function measure(manager: Manager, window: number, headTokens: number, sessions: readonly Session[]): string {
  const tally = new RecallTally()
  const head: SentPiece = { text: 'head', tokens: headTokens }
  let costUsd = 0
  let over = 0
  let taskKept = 0
  let calls = 0
  for (const { recording, index, messages, pieces } of sessions) {
    const manage = manager.start(window - headTokens)
    const pricer = new SessionPricer(SONNET_4_5)
    for (const call of recording.calls) {
      const view = manage(messages.slice(0, call.to))
      const sent = view.map(
        ({ message, isCleared }) => pieces[message.index]?.[isCleared ? 'cleared' : 'whole'] ?? head,
      )
      pricer.add({ pieces: [head, ...sent], outputTokens: 0 })
      const texts = view.flatMap(({ message, isCleared }) => (isCleared ? message.cleared.texts : message.texts))
      tally.add(index, call.index, index.view(texts))
      if (tokensOf(view) + headTokens > window) over++
      if (view[0]?.message.index === 0) taskKept++
      calls++
    }
    costUsd += pricer.total().inputCostUsd
  }
  const { quoteRecall, nameRecall, pooled } = tally.total()
  return [
    `${share(quoteRecall)} / ${share(nameRecall)}`,
    `pooled ${share(pooled.quoteRecall)} / ${share(pooled.nameRecall)}`,
    `$${costUsd.toFixed(1)}`,
    `${over} over`,
    `task in ${Math.round((100 * taskKept) / calls)} %`,
  ].join(', ')
}

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
  const counting = { charactersPerToken: Number(values.chars), perCall: Number(values['per-call']) }
  const parallel = values.parallel === 'merged' ? 'merged' : 'as-written'
  const sessions: Session[] = []
  for (const name of readdirSync(folder).sort()) {
    const { recordings } = await loadFile(join(folder, name), { resend: 'everything', thinking: 'drop', parallel })
    for (const recording of recordings) sessions.push(sessionOf(recording, counting))
  }
  const calls = sessions.reduce((sum, session) => sum + session.recording.calls.length, 0)
  console.log(`${sessions.length} sessions, ${calls} calls; ${JSON.stringify(counting)}, head ${values.head}`)
  for (const window of [64_000, 32_000]) {
    console.log(`\n${window} tokens: quote / name recall`)
    for (const manager of MANAGERS) {
      const figures = measure(manager, window, Number(values.head), sessions)
      console.log(`  ${manager.name.padEnd(37)}${figures.padEnd(80)} reference ${REFERENCE[manager.name]?.[window]}`)
    }
  }
}

await main()

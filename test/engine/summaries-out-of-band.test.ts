import { afterEach, describe, expect, it } from 'vitest'
import { openSummarizer } from '../../src/drivers/open-summarizer.ts'
import { byName } from '../../src/formats/registry.ts'
import type { Summarizer } from '../../src/ports/summarizer.ts'
import {
  startReferee,
  summarizerBrain,
  type RunningReferee,
  type StartRefereeOptions,
  type SummarizerHabit,
} from '../../src/testing/referee/index.ts'
import { runLoop } from '../pains/support/loop.ts'
import { SUMMARISING, summarisingEngine } from '../pains/support/summarizer.ts'
import { WIRES, type WireName } from '../support/generators/index.ts'

const SUMMARY = 'State: the parser reads half of the files. Next: read the rest. Nothing was decided.'

const running: RunningReferee[] = []
afterEach(async () => {
  for (const referee of running.splice(0)) await referee.close()
})

/** A provider behind a socket and the driver in front of it. */
async function provider(
  options: StartRefereeOptions,
  window = 60_000,
): Promise<{ referee: RunningReferee; summarizer: Summarizer }> {
  const referee = await startReferee({ apiKey: 'sk-summary', ...options })
  running.push(referee)
  const summarizer = openSummarizer(
    {
      format: options.wire,
      model: MODELS[options.wire as WireName],
      baseUrl: options.wire.startsWith('openai') ? `${referee.url}/v1` : referee.url,
      apiKey: 'sk-summary',
      window,
    },
    { wires: byName, windowOf: () => window },
  )!
  return { referee, summarizer }
}

const MODELS: Record<WireName, string> = {
  'anthropic-messages': 'claude-haiku-4-5',
  'openai-chat': 'gpt-4.1-mini',
  'openai-responses': 'gpt-4.1-mini',
  gemini: 'gemini-2.5-flash',
  'ollama-chat': 'llama3.1:8b',
  'bedrock-converse': 'us.anthropic.claude-haiku-4-5-20251001-v1:0',
}

describe.each(WIRES)('a summarizer behind HTTP on %s', (wire) => {
  it('is asked with a request that its provider takes, and its words stand in the next request', async () => {
    const { referee, summarizer } = await provider({ wire, script: summarizerBrain('natural', SUMMARY) })
    const { agent, events } = summarisingEngine(summarizer)
    const turn = await runLoop(agent, { to: 60 })
    expect(referee.log.length).toBeGreaterThan(0)
    expect(referee.log.flatMap(({ violations, status }) => [...violations, status])).toEqual(referee.log.map(() => 200))
    expect(turn.text).toContain(SUMMARY)
    const spent = events.filter((event) => event.type === 'usage-recorded' && event.purpose === 'summary')
    expect(spent).toHaveLength(referee.log.length)
  })

  it.each<SummarizerHabit>(['length', 'empty', 'reasoning-only', 'tool-call', 'refusal', 'longer-than-source', 'echo'])(
    'whose answer is bad (%s) gives way to what code wrote',
    async (habit) => {
      const { summarizer } = await provider({ wire, script: summarizerBrain(habit, SUMMARY) })
      const { agent, events } = summarisingEngine(summarizer)
      const turn = await runLoop(agent, { to: 60 })
      expect(turn.epoch).toBeDefined()
      expect(turn.load.count.high).toBeLessThanOrEqual(turn.limit.tokens)
      expect(turn.text).not.toContain(SUMMARY)
      expect(events.filter((event) => event.type === 'summary-rejected').length).toBeGreaterThan(0)
    },
  )

  it.each(['hang', 'cut-stream', 'overloaded', 'server-error', 'throttle', 'html-413'] as const)(
    'that fails (%s) holds nothing up and is asked once',
    async (kind) => {
      const { referee, summarizer } = await provider({ wire, faults: [{ on: 'every', fault: { kind } }] })
      const { agent, events } = summarisingEngine(summarizer, { ...SUMMARISING, timeMs: 200 })
      const turn = await runLoop(agent, { from: 60, to: 60 })
      expect(turn.epoch).toBeDefined()
      expect(turn.load.count.high).toBeLessThanOrEqual(turn.limit.tokens)
      expect(referee.log).toHaveLength(1)
      expect(events.filter((event) => event.type === 'degraded')).toHaveLength(1)
    },
  )
})

describe('a history that is longer than the summarizer’s window', () => {
  it('loses its oldest part, and says so', async () => {
    const { referee, summarizer } = await provider(
      { wire: 'openai-chat', window: 4_000, script: summarizerBrain('natural', SUMMARY) },
      4_000,
    )
    const { agent } = summarisingEngine(summarizer, { ...SUMMARISING, summaries: { calls: 2 } })
    const turn = await runLoop(agent, { from: 60, to: 60 })
    expect(referee.log).toHaveLength(1)
    expect(JSON.stringify(referee.log[0]!.body)).toContain('older entries left out')
    expect(turn.text).toContain(SUMMARY)
  })
})

describe('a summarizer that cannot work', () => {
  it('is an error at the start that names what is missing', () => {
    const open = (format: string) => () =>
      openSummarizer({ format, model: 'm' }, { wires: byName, windowOf: () => 1, env: {} })
    expect(open('morse')).toThrow(/format "morse" is not known/)
    expect(open('anthropic-messages')).toThrow(/no key for the summarizer m/)
  })
})

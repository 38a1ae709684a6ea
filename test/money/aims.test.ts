import { describe, expect, it } from 'vitest'
import type { EventOf } from '../../src/core/events.ts'
import { createPlimsoll, type PlimsollOptions } from '../../src/index.ts'
import { createReferee, say } from '../../src/testing/referee/index.ts'

const lines = (seed: number): string =>
  Array.from(
    { length: 60 },
    (_, at) => `${seed}:${at} value ${(seed * 7919 + at * 104729) % 99991} was written by worker ${at % 7}`,
  ).join('\n')

/** A request of an agent that has run a tool so many times. */
const body = (steps: number): string =>
  JSON.stringify({
    model: 'claude-sonnet-4-5',
    max_tokens: 200,
    tools: [{ name: 'read_log', input_schema: { type: 'object' } }],
    messages: [
      { role: 'user', content: 'Find out why the workers write twice.' },
      ...Array.from({ length: steps }, (_, at) => [
        { role: 'assistant', content: [{ type: 'tool_use', id: `c${at}`, name: 'read_log', input: { at } }] },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: `c${at}`,
              content: lines(at),
              ...(at === steps - 1 && { cache_control: { type: 'ephemeral' } }),
            },
          ],
        },
      ]).flat(),
    ],
  })

function agent(options: Partial<PlimsollOptions> = {}) {
  let now = Date.UTC(2026, 0, 5)
  const clock = { now: () => now }
  const referee = createReferee({ wire: 'anthropic-messages', window: 1_000_000, clock, script: () => say('Go on.') })
  const epochs: EventOf<'epoch-declared'>[] = []
  const plimsoll = createPlimsoll({
    store: 'memory:',
    clock,
    fetch: referee.fetch,
    onEvent: (event) => event.type === 'epoch-declared' && epochs.push(event),
    ...options,
  })
  return {
    plimsoll,
    epochs,
    wait: (seconds: number) => void (now += seconds * 1_000),
    async run(from: number, to: number, more: Record<string, string> = {}): Promise<number> {
      let status = 0
      for (let steps = from; steps <= to; steps++) {
        now += 5_000
        const headers = {
          'content-type': 'application/json',
          'x-api-key': 'k',
          'anthropic-version': '2023-06-01',
          'x-plimsoll-session': 's',
          ...more,
        }
        const answer = await plimsoll.fetch('http://referee.test/v1/messages', {
          method: 'POST',
          headers,
          body: body(steps),
        })
        status = answer.status
        await answer.text()
      }
      return status
    },
  }
}

describe('what compactions are for', () => {
  const WINDOW = 1_000_000

  it('room changes nothing in a large window', async () => {
    const { run, epochs, plimsoll } = agent({ window: WINDOW })
    await run(1, 60)
    expect(epochs).toEqual([])
    await plimsoll.close()
  })

  it('thrift compacts there, not below 40,000 tokens, and says what it expected', async () => {
    const { run, epochs, plimsoll } = agent({ window: WINDOW, aim: 'thrift' })
    await run(1, 60)
    expect(epochs.length).toBeGreaterThan(0)
    for (const { before, after, forced, price } of epochs) {
      expect(forced).toBe(false)
      expect(before).toBeGreaterThan(40_000)
      expect(after).toBeLessThan(0.75 * before)
      expect(price!.epochUsd).toBeLessThan(price!.keepUsd)
    }
    await plimsoll.close()
  })

  it('is set for one agent, or asked for by one request', async () => {
    const byAgent = agent({ window: WINDOW, agents: { searcher: { aim: 'thrift' } } })
    await byAgent.run(1, 60, { 'x-plimsoll-agent': 'main' })
    expect(byAgent.epochs).toEqual([])
    await byAgent.run(1, 60, { 'x-plimsoll-agent': 'searcher' })
    expect(byAgent.epochs.length).toBeGreaterThan(0)
    await byAgent.plimsoll.close()
    const byHeader = agent({ window: WINDOW })
    await byHeader.run(1, 60, { 'x-plimsoll-aim': 'thrift' })
    expect(byHeader.epochs.length).toBeGreaterThan(0)
    expect(await byHeader.run(61, 61, { 'x-plimsoll-aim': 'speed' })).toBe(400)
    await byHeader.plimsoll.close()
  })

  it('a cold cache makes thrift compact at once', async () => {
    const { run, wait, epochs, plimsoll } = agent({ window: WINDOW, aim: 'thrift' })
    // A little above what it leaves, where a warm cache is worth more.
    await run(49, 51)
    expect(epochs).toEqual([])
    wait(301)
    await run(52, 52)
    expect(epochs).toHaveLength(1)
    await plimsoll.close()
  })

  it('room does early what it would be forced to do soon, where the cache is certainly gone', async () => {
    const warm = agent({ window: 60_000 })
    await warm.run(1, 30)
    const forcedAt = 1 + (await firstForced(warm.epochs, warm.run))
    expect(forcedAt).toBeGreaterThan(30)
    const cold = agent({ window: 60_000 })
    await cold.run(1, forcedAt - 3)
    expect(cold.epochs).toEqual([])
    cold.wait(301)
    await cold.run(forcedAt - 2, forcedAt - 2)
    expect(cold.epochs).toMatchObject([{ forced: false }])
    // A cache that only may be gone is left alone.
    const young = agent({ window: 60_000 })
    await young.run(1, forcedAt - 3)
    young.wait(290)
    await young.run(forcedAt - 2, forcedAt - 2)
    expect(young.epochs).toEqual([])
    for (const { plimsoll } of [warm, cold, young]) await plimsoll.close()
  })
})

/** The number of steps before the request that is compacted. */
async function firstForced(
  epochs: readonly unknown[],
  run: (from: number, to: number) => Promise<number>,
): Promise<number> {
  for (let steps = 31; ; steps++) {
    await run(steps, steps)
    if (epochs.length > 0) return steps - 1
  }
}

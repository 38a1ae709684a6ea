import { describe, expect, it } from 'vitest'
import { runLoop } from './support/loop.ts'
import { fakeSummarizer, sound, summarisingEngine } from './support/summarizer.ts'

describe('E4: what summaries cost', () => {
  it('is recorded call by call under its own purpose, and adds up to what the summarizer reported', async () => {
    const usage = (number: number) => ({
      input: 1_000 + number,
      output: 50 + number,
      cacheRead: 0,
      cacheWrite: 0,
      reasoning: 0,
    })
    // Every second answer is refused and still costs.
    const fake = fakeSummarizer((_, number) => ({
      ...(number % 2 === 1 ? { text: 'half', stop: 'length' as const } : sound()),
      usage: usage(number),
    }))
    const { agent, deps, events } = summarisingEngine(fake)
    await runLoop(agent, { to: 140 })
    const expected = fake.requests.map((_, i) => usage(i + 1))
    expect(expected.length).toBeGreaterThan(2)
    expect(
      events.flatMap((event) => (event.type === 'usage-recorded' && event.purpose === 'summary' ? [event.usage] : [])),
    ).toEqual(expected)
    const recorded: unknown[] = []
    for await (const { record } of deps.sessions.read('local', 'test'))
      if (record.type === 'usage' && record.purpose === 'summary') recorded.push(record.usage)
    expect(recorded).toEqual(expected)
  })
})

import { describe, expect, it } from 'vitest'
import { runLoop } from './support/loop.ts'
import { fakeSummarizer, summarisingEngine } from './support/summarizer.ts'

describe('C11: a summarizer that is down', () => {
  it('is asked once per compaction on every route: high water, on demand, forced, another model, another agent', async () => {
    const summarizer = fakeSummarizer(() => Promise.reject(new Error('503')))
    const { agent, events } = summarisingEngine(summarizer)
    const epochs = () => events.filter((event) => event.type === 'epoch-declared').length
    await runLoop(agent, { to: 60 })
    const byWater = epochs()
    expect(byWater).toBeGreaterThan(0)
    await agent.compact()
    await runLoop(agent, { from: 61, to: 61 })
    // A smaller window forces the next one.
    const forced = await runLoop(agent, { from: 62, to: 62, window: 3_000 })
    expect(forced.load.count.high).toBeLessThanOrEqual(forced.limit.tokens)
    expect(epochs()).toBeGreaterThan(byWater)
    // One question, and then code: never two in front of one epoch.
    let asked = 0
    for (const { type } of events) {
      if (type === 'degraded') expect(++asked).toBe(1)
      if (type === 'epoch-declared') asked = 0
    }
    expect(summarizer.requests.length).toBeGreaterThan(0)
    expect(events.filter((event) => event.type === 'degraded').length).toBe(summarizer.requests.length)
  })
})

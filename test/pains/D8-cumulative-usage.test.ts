import { describe, expect, it } from 'vitest'
import type { Usage } from '../../src/core/usage.ts'
import { testEngine } from '../support/engine.ts'
import { runLoop } from './support/loop.ts'
import { fakeSummarizer, sound, summarisingEngine } from './support/summarizer.ts'

const usage = (input: number): Usage => ({ input, output: 20, cacheRead: 0, cacheWrite: 0, reasoning: 0 })

describe('D8: occupancy', () => {
  it('follows the last main prompt over twenty reports, not their sum', async () => {
    const { session } = testEngine()
    const agent = session()
    for (let steps = 1; steps <= 20; steps++) {
      const turn = await runLoop(agent, { from: steps, to: steps })
      await agent.record({ turn: turn.id, usage: usage(1_000 + steps * 130) })
    }
    const next = await runLoop(agent, { from: 21, to: 21 })
    // 3,600 measured, the answer of 20, and one step of about 130 since.
    expect(next.load.count.high).toBeGreaterThan(3_600)
    expect(next.load.count.high).toBeLessThan(3_600 + 20 + 300)
    expect((await agent.status()).used).toBe(Math.ceil(next.load.count.high))
  })

  it('leaves the summarizer’s own calls out', async () => {
    const fake = fakeSummarizer(() => ({ ...sound(), usage: usage(500_000) }))
    const { agent, events } = summarisingEngine(fake)
    const turn = await runLoop(agent, { to: 62 })
    expect(events.some((event) => event.type === 'usage-recorded' && event.purpose === 'summary')).toBe(true)
    expect(turn.load.count.high).toBeLessThan(turn.limit.tokens)
    expect((await agent.status()).used).toBeLessThan(turn.limit.tokens)
  })
})

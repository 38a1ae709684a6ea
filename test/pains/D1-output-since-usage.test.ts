import { describe, expect, it } from 'vitest'
import { testEngine } from '../support/engine.ts'
import { runLoop } from './support/loop.ts'

describe('D1: what came after the last reported usage', () => {
  it('counts: at 94 % reported and a result of 10 % the compaction comes before the request', async () => {
    const agent = testEngine().session()
    // By our own count half full; the provider counts more.
    const before = await runLoop(agent, { to: 25 })
    expect(before.load.count.high).toBeLessThan(0.6 * before.limit.tokens)
    const reported = Math.floor(0.94 * before.limit.tokens)
    await agent.record({
      turn: before.id,
      usage: { input: reported, output: 40, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
    })
    const tenth = Math.ceil(0.1 * before.limit.tokens * 4)
    const turn = await runLoop(agent, { from: 26, to: 26, resultLength: (step) => (step === 26 ? tenth : 400) })
    expect(turn.report.loadBefore).toBeGreaterThan(turn.limit.tokens)
    expect(turn.report.newEpoch).toMatchObject({ forced: true })
    expect(turn.load.count.high).toBeLessThan(turn.limit.tokens)
  })
})

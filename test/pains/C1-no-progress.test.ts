import { describe, expect, it } from 'vitest'
import { runLoop } from './support/loop.ts'
import { fakeSummarizer, summarisingEngine } from './support/summarizer.ts'

describe('C1: a summarizer that never shrinks anything', () => {
  it('is asked at most twice per compaction, and a step without a model makes the progress', async () => {
    const summarizer = fakeSummarizer(({ prompt }) => ({ text: prompt.repeat(2), stop: 'end' }))
    const { agent, events } = summarisingEngine(summarizer)
    const compactions: number[] = []
    let asked = 0
    await runLoop(agent, {
      to: 220,
      onTurn(turn, steps) {
        expect(turn.load.count.high).toBeLessThanOrEqual(turn.limit.tokens)
        const calls = summarizer.requests.length - asked
        asked = summarizer.requests.length
        expect(calls).toBeLessThanOrEqual(2)
        if (turn.report.newEpoch === undefined) return
        compactions.push(steps)
        // Success means measured well below the trigger, not just a little less.
        expect(turn.load.count.high).toBeLessThan(0.6 * turn.limit.tokens)
      },
    })
    expect(compactions.length).toBeGreaterThan(2)
    expect(summarizer.requests.length).toBeLessThanOrEqual(2 * compactions.length)
    // Rest between two of them: never one right after another.
    for (const [i, steps] of compactions.entries()) if (i > 0) expect(steps - compactions[i - 1]!).toBeGreaterThan(5)
    expect(events.filter((event) => event.type === 'summary-rejected').length).toBe(summarizer.requests.length)
  })
})

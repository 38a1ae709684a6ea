import { describe, expect, it } from 'vitest'
import { testEngine } from '../support/engine.ts'
import { prepareMessages, runLoop } from './support/loop.ts'
import { fakeSummarizer, summarisingEngine } from './support/summarizer.ts'

const LONG = 'and then it read another file, and then ' // five hundred times is more than the source, and less than the window

describe('C10: a reduction that would make the request larger', () => {
  it('is not made: short messages leave as the bytes that came in', async () => {
    const messages = Array.from({ length: 9 }, (_, n) => ({
      role: n % 2 === 0 ? 'user' : 'assistant',
      content: `${n}`,
    }))
    for (const extra of [{}, { system: 's'.repeat(12_000) }]) {
      const { session, events } = testEngine()
      const agent = session()
      await agent.compact()
      const turn = await prepareMessages(agent, messages, 4_000, extra)
      expect(turn.report.untouched).toBe(true)
      expect(events.filter((event) => event.type === 'epoch-declared')).toEqual([])
    }
  })

  it('by a summary that is longer than its source is discarded with its reason, and code writes a shorter one', async () => {
    const { agent, events } = summarisingEngine(fakeSummarizer(() => ({ text: LONG.repeat(500), stop: 'end' })))
    await runLoop(agent, { to: 38 })
    await agent.compact()
    const turn = await runLoop(agent, { from: 39, to: 39 })
    expect(turn.report.newEpoch).toBeDefined()
    expect(turn.load.count.high).toBeLessThan(turn.report.loadBefore)
    expect(turn.text).not.toContain(LONG.repeat(3))
    const reasons = events.flatMap((event) => (event.type === 'summary-rejected' ? [event.reason] : []))
    expect(reasons.length).toBeGreaterThan(0)
    for (const reason of reasons) expect(reason).toBe('it is as long as what it stands for')
  })
})

import { describe, expect, it } from 'vitest'
import { testEngine } from '../support/engine.ts'
import { prepareMessages } from './support/loop.ts'

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
      const grown = turn.load.count.high - turn.report.loadBefore
      expect(grown).toBeLessThanOrEqual(0)
      expect(turn.report.untouched).toBe(true)
      expect(events.filter((event) => event.type === 'epoch-declared')).toEqual([])
    }
  })
})

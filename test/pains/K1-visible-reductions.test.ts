import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { testEngine } from '../support/engine.ts'
import { runLoop } from './support/loop.ts'

describe('K1: every reduction', () => {
  it('has one event with its numbers, and the records alone rebuild each request', async () => {
    const sessions = memoryStore()
    const { session, events } = testEngine({ sessions })
    const agent = session()
    const size = { resultLength: (step: number) => (step % 40 === 0 ? 30_000 : 700) }
    await runLoop(agent, {
      to: 160,
      ...size,
      async onTurn(turn, steps) {
        const declared = events.filter((event) => event.type === 'epoch-declared' && event.epoch === turn.epoch)
        if (turn.epoch !== undefined) expect(declared).toHaveLength(1)
        if (turn.report.newEpoch !== undefined)
          expect(declared[0]).toMatchObject({ before: expect.any(Number), after: expect.any(Number), covered: expect.any(Number), reason: expect.stringMatching(/load/) })
        if (steps % 20 !== 0) return
        const replayed = await runLoop(testEngine({ sessions }).session(), { from: steps, to: steps, ...size })
        expect(replayed.text === turn.text, `step ${steps}`).toBe(true)
      },
    })
    const audit = await agent.audit()
    expect(audit.filter((entry) => entry.type === 'epoch')).toHaveLength(events.filter((event) => event.type === 'epoch-declared').length)
    expect(audit.filter((entry) => entry.type === 'audit')).toHaveLength(events.filter((event) => event.type === 'item-offloaded').length)
    expect(audit.filter((entry) => entry.type === 'audit').length).toBe(4)
  })
})

import { describe, expect, it } from 'vitest'
import { testEngine } from '../support/engine.ts'
import { runLoop } from './support/loop.ts'

describe('D9: the numbers about one request', () => {
  it('are the same in the turn, its report, the status, the event and the record', async () => {
    const { session, events } = testEngine()
    const agent = session()
    let epochs = 0
    await runLoop(agent, {
      to: 130,
      async onTurn(turn) {
        const status = await agent.status()
        const prepared = events.findLast((event) => event.type === 'request-prepared')!
        const { high } = turn.load.count
        expect(turn.report.loadAfter).toBe(high)
        expect(status).toMatchObject({ used: Math.ceil(high), limit: turn.limit.tokens })
        expect(prepared).toMatchObject({ load: high, limit: turn.limit.tokens, bytes: Buffer.byteLength(turn.text) })
        if (turn.report.newEpoch === undefined) return
        epochs++
        const declared = events.findLast((event) => event.type === 'epoch-declared')!
        expect(declared).toMatchObject({ before: turn.report.loadBefore, after: high })
        const record = (await agent.audit()).findLast((entry) => entry.type === 'epoch')!
        expect(record).toMatchObject({ id: turn.epoch, before: turn.report.loadBefore, after: high })
      },
    })
    expect(epochs).toBeGreaterThan(1)
  })
})

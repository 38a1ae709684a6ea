import { describe, expect, it } from 'vitest'
import { createPlimsoll } from '../../src/plimsoll.ts'
import { toolLoop } from '../support/anthropic-loop.ts'

const request = (window: number, steps = 200) => ({
  format: 'anthropic-messages',
  body: toolLoop({ steps, resultLength: 900 }),
  targets: [{ model: 'claude-sonnet-4-5', window }],
})

describe('a request that is prepared again for a smaller limit', () => {
  it('is reduced further, although an epoch covers it already', async () => {
    const session = createPlimsoll({ store: 'memory:', clock: { now: () => 1_000 } }).session({ id: 's' })
    const first = await session.prepare(request(8_000))
    const second = await session.prepare(request(2_500))
    expect(first.load.count.high).toBeGreaterThan(second.limit.tokens)
    expect(second.load.count.high).toBeLessThanOrEqual(second.limit.tokens)
    expect(second.epoch).not.toBe(first.epoch)
    // The deeper one stands from then on, also for whoever has the larger window.
    expect((await session.prepare(request(2_500))).text).toBe(second.text)
    const longer = await session.prepare(request(2_500, 201))
    expect(longer.load.count.high).toBeLessThanOrEqual(longer.limit.tokens)
  })
})

import { describe, expect, it } from 'vitest'
import { exactly } from '../../src/core/count.ts'
import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import { createMeter } from '../../src/meter/index.ts'
import { plainMeter, testEngine } from '../support/engine.ts'
import { runLoop } from './support/loop.ts'

const tools = Array.from({ length: 30 }, (_, n) => ({
  name: `tool_${n}`,
  description: `Does the thing number ${n}.`,
  input_schema: { type: 'object', properties: { path: { type: 'string' } } },
}))

describe('F7: the work of one more turn', () => {
  it('is that of its new items: in a history of a thousand messages nothing is counted twice', async () => {
    const counted: string[] = []
    const meter = createMeter({
      catalogue: bundledCatalogue(),
      tokenizerFor: () => ({
        name: 'counting',
        count(text) {
          counted.push(text)
          return exactly(Math.ceil(text.length / 4))
        },
      }),
    })
    const engine = testEngine({ meter: { ...meter, limitOf: plainMeter.limitOf } })
    const agent = engine.session()
    await runLoop(agent, { from: 500, to: 500, window: 1_000_000, extra: { tools } })
    // 1,000 messages and 30 tools; texts that repeat are counted once.
    expect(counted.length).toBeLessThan(1_700)
    expect(new Set(counted).size).toBe(counted.length)
    for (let steps = 501; steps <= 505; steps++) {
      counted.length = 0
      await runLoop(agent, { from: steps, to: steps, window: 1_000_000, extra: { tools } })
      expect(counted.length).toBeLessThanOrEqual(5)
    }
  })
})

import { describe, expect, it } from 'vitest'
import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import { loadTiktoken } from '../../src/drivers/tokenizers/tokenizers.ts'
import { codecOf } from '../../src/formats/registry.ts'
import { createMeter } from '../../src/meter/index.ts'

const MODEL = 'gpt-4o'
const codec = codecOf('openai-chat')
const exact = (await loadTiktoken('o200k'))!
const meter = createMeter({ catalogue: bundledCatalogue() })

const tool = (n: number) => ({
  type: 'function',
  function: {
    name: `look_up_berth_${n}`,
    description: `Looks up berth number ${n} in the harbour register and returns its draught, its queue and its tide table.`,
    parameters: {
      type: 'object',
      properties: { berth: { type: 'string', description: `Name of the berth, like B${n}` } },
      required: ['berth'],
    },
  },
})
const measure = (tools: object[], system = 'Be brief.') => {
  const body = {
    model: MODEL,
    messages: [
      { role: 'system', content: system },
      { role: 'user', content: 'Hi.' },
    ],
    ...(tools.length > 0 && { tools }),
  }
  const text = JSON.stringify(body)
  return meter.measure(MODEL, codec.decode(text), Buffer.byteLength(text)).count
}

describe('D2: tool schemas and the system prompt', () => {
  it.each([0, 30, 300])('add what they weigh on the wire: %i tools', (count) => {
    const tools = Array.from({ length: count }, (_, n) => tool(n))
    const added = measure(tools).tokens - measure([]).tokens
    const wire = tools.reduce((sum, one) => sum + exact(JSON.stringify(one)), 0)
    // The vendor renders schemas in a form of its own; the wire text is the upper bound that we hold to.
    expect(added).toBeGreaterThanOrEqual(0.55 * wire)
    expect(added).toBeLessThanOrEqual(1.1 * wire)
    expect(measure(tools).high - measure([]).high).toBeGreaterThanOrEqual(0.55 * wire)
  })

  it('count the system prompt in full', () => {
    const system = 'Mind the tide at berth four. '.repeat(400)
    const added = measure([], system).tokens - measure([], 'x').tokens
    expect(Math.abs(added / exact(system) - 1)).toBeLessThan(0.1)
  })
})

import { describe, expect, it } from 'vitest'
import type { ItemKind } from '../../src/core/item.ts'
import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import { loadTiktoken } from '../../src/drivers/tokenizers/tokenizers.ts'
import { codecOf } from '../../src/formats/registry.ts'
import { createMeter } from '../../src/meter/index.ts'

const codec = codecOf('anthropic-messages')
const MODEL = 'claude-sonnet-4-5'
const words = 'berth four is held by the crane until the tide turns again '.repeat(840)
const ask = { role: 'user', content: 'Go.' }
const call = { type: 'tool_use', id: 'toolu_1', name: 'read', input: {} }
const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'ok' }] }

/** A body with ten thousand tokens in one part of this kind; the compiler asks for every kind there is. */
const BODIES: Record<ItemKind, object[]> = {
  instruction: [
    ask,
    { role: 'assistant', content: 'Yes.' },
    { role: 'user', content: [{ type: 'text', text: words }] },
  ],
  user: [{ role: 'user', content: words }],
  assistant: [ask, { role: 'assistant', content: words }, ask],
  reasoning: [
    ask,
    { role: 'assistant', content: [{ type: 'thinking', thinking: words, signature: 's' }, call] },
    result,
  ],
  call: [ask, { role: 'assistant', content: [{ ...call, input: { script: words } }] }, result],
  result: [
    ask,
    { role: 'assistant', content: [call] },
    {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: words }] }],
    },
  ],
  media: [
    {
      role: 'user',
      content: [
        { type: 'document', source: { type: 'text', media_type: 'text/plain', data: words } },
        { type: 'text', text: 'Go.' },
      ],
    },
  ],
  opaque: [
    {
      role: 'user',
      content: [
        { type: 'x_block', body: words },
        { type: 'text', text: 'Go.' },
      ],
    },
  ],
}

describe('D11: a part of ten thousand tokens', () => {
  const meter = createMeter({ catalogue: bundledCatalogue() })
  const measure = (body: object): number => {
    const text = JSON.stringify(body)
    return meter.measure(MODEL, codec.decode(text), Buffer.byteLength(text)).count.tokens
  }
  const empty = measure({ model: MODEL, max_tokens: 9, messages: [ask] })

  it('is what the words weigh', async () => expect((await loadTiktoken('o200k'))!(words)).toBeGreaterThan(10_000))

  it.each(Object.entries(BODIES))('raises the estimate by at least eight thousand: %s', (kind, messages) => {
    const extra = kind === 'instruction' ? { system: words } : {}
    expect(measure({ model: MODEL, max_tokens: 9, messages, ...extra }) - empty).toBeGreaterThan(8_000)
  })
})

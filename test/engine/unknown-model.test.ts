import { describe, expect, it } from 'vitest'
import { createPlimsoll } from '../../src/plimsoll.ts'
import { resultText } from '../support/anthropic-loop.ts'

describe('a model that no catalogue knows', () => {
  it('is counted with a margin that one whole measured prompt makes smaller', async () => {
    const plimsoll = createPlimsoll({ store: 'memory:', artifacts: 'memory:' })
    const session = plimsoll.session({ id: 'unknown' })
    const messages = [{ role: 'user', content: resultText(1, 12_000) }]
    const prepare = () =>
      session.prepare({
        format: 'openai-chat',
        body: { model: 'nobody-knows-1', max_tokens: 100, messages },
        targets: [{ model: 'nobody-knows-1', window: 60_000 }],
      })
    const first = await prepare()
    expect(first.load.count.high).toBeGreaterThan(2.5 * first.load.count.tokens)
    const input = Math.round(first.load.count.tokens)
    await session.record({ turn: first.id, usage: { input, cacheRead: 0, cacheWrite: 0, output: 2, reasoning: 0 } })
    messages.push({ role: 'assistant', content: 'ok' }, { role: 'user', content: resultText(2, 12_000) })
    const { count } = (await prepare()).load
    expect(count.high - input).toBeLessThan(2.5 * (count.tokens - input))
    await plimsoll.close()
  })
})

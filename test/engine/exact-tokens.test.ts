import { expect, it } from 'vitest'
import { createPlimsoll } from '../../src/index.ts'

const text = 'The quick brown fox jumps over the lazy dog. '.repeat(40)
const body = { model: 'gpt-4o', max_tokens: 100, messages: [{ role: 'user', content: text }] }

it('counts an OpenAI request exactly when asked to, and as an interval when not', async () => {
  const counts = []
  for (const exactTokens of [true, false]) {
    const plimsoll = createPlimsoll({ store: 'memory:', exactTokens })
    const { load } = await plimsoll.session({ id: 's' }).prepare({ format: 'openai-chat', body })
    counts.push(load.count)
    await plimsoll.close()
  }
  // 10 tokens a sentence and one for the last blank, 4 for the message, 3 for the answer; only the frame is uncertain.
  const [exact, estimated] = counts
  expect(exact!.tokens).toBe(408)
  expect(exact!.high - exact!.low).toBeLessThanOrEqual(4)
  expect(estimated!.high - estimated!.low).toBeGreaterThan(4)
})

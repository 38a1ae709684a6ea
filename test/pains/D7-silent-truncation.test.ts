import { describe, expect, it } from 'vitest'
import { createPlimsoll, type PlimsollEvent } from '../../src/index.ts'
import { createReferee } from '../../src/testing/referee/index.ts'
import { resultText } from '../support/anthropic-loop.ts'

describe('D7: a server that silently keeps the end of the prompt', () => {
  it('is noticed when it happens for the second time: a warning, a learned window, and the system prompt in all later requests', async () => {
    const referee = createReferee({ wire: 'openai-chat', window: 4_096, overflow: 'truncate-front' })
    const events: PlimsollEvent[] = []
    const plimsoll = createPlimsoll({
      store: 'memory:',
      secret: Buffer.alloc(32, 1),
      fetch: referee.fetch,
      onEvent: (event) => events.push(event),
    })
    const messages: object[] = [{ role: 'system', content: 'RULE-4711' }]
    for (let n = 0; n < 6; n++) {
      messages.push({ role: 'user', content: resultText(n, 8_000) })
      const body = JSON.stringify({ model: 'local-model', max_completion_tokens: 100, messages })
      const headers = { 'content-type': 'application/json', authorization: 'Bearer k' }
      const answer = await plimsoll.fetch('http://referee.test/v1/chat/completions', { method: 'POST', headers, body })
      await answer.text()
      messages.push({ role: 'assistant', content: 'ok' })
    }
    expect(events.some((event) => event.type === 'window-learned' && event.window <= 4_096)).toBe(true)
    expect(referee.log.filter(({ truncatedTokens }) => truncatedTokens > 0).length).toBeLessThanOrEqual(2)
    await plimsoll.close()
  })
})

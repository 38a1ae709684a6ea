import { describe, expect, it } from 'vitest'
import { call, createReferee, say } from '../../src/testing/referee/index.ts'
import { createPlimsoll } from '../../src/index.ts'
import { post } from '../referee/ask.ts'
import { resultText } from '../support/anthropic-loop.ts'
import { ANTHROPIC, MODEL } from './support/loop.ts'

const STEPS = 100
const WINDOW = 50_000

describe('C6: a single user turn', () => {
  it('of a hundred tool steps never sends a request above the window, and ends normally', async () => {
    const referee = createReferee({
      wire: ANTHROPIC,
      window: WINDOW,
      script: ({ number }) => (number <= STEPS ? call('read', { n: number }) : say('All read.')),
    })
    const plimsoll = createPlimsoll({ store: 'memory:', secret: Buffer.alloc(32, 1) })
    const session = plimsoll.session({ id: 's' })
    const messages: object[] = [{ role: 'user', content: 'Read everything.' }]
    let last = ''
    for (let step = 1; step <= STEPS + 1; step++) {
      const body = {
        model: MODEL,
        max_tokens: 512,
        tools: [{ name: 'read', input_schema: { type: 'object' } }],
        messages,
      }
      const turn = await session.prepare({ format: ANTHROPIC, body, targets: [{ model: MODEL, window: WINDOW }] })
      const answer = await post(referee, turn.text)
      expect(answer.status).toBe(200)
      const response = JSON.parse(answer.text) as { content: { type: string; id: string; text?: string }[] }
      await session.record({ turn: turn.id, response })
      messages.push({ role: 'assistant', content: response.content })
      const used = response.content.find((block) => block.type === 'tool_use')
      last = response.content[0]!.text ?? ''
      if (used === undefined) break
      messages.push({
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: used.id, content: resultText(step, 7_000) }],
      })
    }
    expect(last).toBe('All read.')
    expect(referee.summary()).toMatchObject({ answered: STEPS + 1, overflows: 0, invalid: 0 })
    expect(referee.summary().peakInputTokens).toBeGreaterThan(WINDOW * 0.7)
    await plimsoll.close()
  })
})

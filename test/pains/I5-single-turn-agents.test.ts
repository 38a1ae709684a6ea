import { describe, expect, it } from 'vitest'
import { testEngine } from '../support/engine.ts'
import { runLoop } from './support/loop.ts'
import { resultText } from '../support/anthropic-loop.ts'

describe('I5: an agent with one user turn', () => {
  it('can be pruned: of sixty outputs only the newest stay whole', async () => {
    const turn = await runLoop(testEngine().session(), { from: 60, to: 60, resultLength: 800 })
    const { messages } = JSON.parse(turn.text) as { messages: { content: string | { content?: string }[] }[] }
    const shown = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content.map((b) => b.content)))
    // As results: passages of older ones stand in the record.
    const whole = Array.from({ length: 60 }, (_, n) => n + 1).filter((step) => shown.includes(resultText(step, 800)))
    expect(whole).toContain(60)
    expect(whole.length).toBeLessThan(15)
    // The newest ones, without a hole.
    expect(whole).toEqual(Array.from({ length: whole.length }, (_, i) => 61 - whole.length + i))
  })
})

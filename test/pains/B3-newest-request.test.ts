import { describe, expect, it } from 'vitest'
import { resultText } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'
import { prepareMessages } from './support/loop.ts'

const QUESTION = 'Shall I delete the old index, or keep both for a week?'
const REPLY = 'Keep both, and tell me the sizes.'

function history(after: number): object[] {
  const step = (n: number): object[] => [
    { role: 'assistant', content: [{ type: 'tool_use', id: `toolu_${n}`, name: 'read', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: `toolu_${n}`, content: resultText(n, 600) }] },
  ]
  const steps = (from: number, count: number): object[] =>
    Array.from({ length: count }, (_, i) => step(from + i)).flat()
  return [
    { role: 'user', content: 'Task X: rebuild the index.' },
    ...steps(0, 25),
    { role: 'assistant', content: QUESTION },
    { role: 'user', content: REPLY },
    ...steps(100, after),
  ]
}

describe('B3: the newest user message and the question it answers', () => {
  it.each([0, 1, 6, 20])('stand verbatim behind the summary, %i steps later, for all cut sizes', async (after) => {
    let folded = 0
    for (let window = 2_000; window <= 8_000; window += 500) {
      const turn = await prepareMessages(testEngine().session(), history(after), window)
      if (turn.report.newEpoch !== undefined) folded++
      const { messages } = JSON.parse(turn.text) as { messages: { role: string; content: unknown }[] }
      const question = messages.findIndex(({ role, content }) => role === 'assistant' && content === QUESTION)
      expect(question).toBeGreaterThan(0)
      expect(messages[question + 1]).toEqual({ role: 'user', content: REPLY })
      if (after === 0) expect(question + 2).toBe(messages.length)
      const summary = messages.findIndex((message) => JSON.stringify(message).includes('[Condensed record of'))
      expect(summary).toBeLessThan(question)
    }
    expect(folded).toBeGreaterThan(5)
  })
})

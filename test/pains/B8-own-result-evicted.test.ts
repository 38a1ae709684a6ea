import { describe, expect, it } from 'vitest'
import { handlesIn } from '../../src/core/handles.ts'
import { anthropicMessages } from '../../src/formats/anthropic-messages/wire.ts'
import { resultText } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'
import { prepareMessages } from './support/loop.ts'

/** Twelve results of one step: each may stay, together they are more than the whole budget. */
const results = Array.from({ length: 12 }, (_, n) => ({ id: `toolu_${n}`, text: resultText(n, 3_000) }))
const open = [
  { role: 'assistant', content: results.map(({ id }) => ({ type: 'tool_use', id, name: 'read', input: {} })) },
  { role: 'user', content: results.map(({ id, text }) => ({ type: 'tool_result', tool_use_id: id, content: text })) },
]

describe('B8: the results that the model is waiting for', () => {
  it('are shortened, never removed, when they alone exceed the budget', async () => {
    const { session, deps } = testEngine()
    const turn = await prepareMessages(session(), [{ role: 'user', content: 'Read all.' }, ...open], 6_000)
    expect(turn.load.count.high).toBeLessThanOrEqual(turn.limit.tokens)
    const view = anthropicMessages.decode(turn.text)
    expect(anthropicMessages.check(JSON.parse(turn.text))).toEqual([])
    for (const { id, text } of results) {
      expect(view.items.some((item) => item.kind === 'call' && item.callId === id)).toBe(true)
      const shown = view.items.find((item) => item.kind === 'result' && item.callId === id)!
      expect(shown.text.length).toBeGreaterThan(100)
      if (shown.text === text) continue
      const [handle] = handlesIn(shown.text)
      expect(Buffer.from((await deps.artifacts.read('local', handle!))!).toString()).toBe(text)
    }
  })
})

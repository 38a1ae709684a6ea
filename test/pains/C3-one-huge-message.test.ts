import { describe, expect, it } from 'vitest'
import { handlesIn } from '../../src/core/handles.ts'
import { anthropicMessages } from '../../src/formats/anthropic-messages/wire.ts'
import { resultText } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'
import { prepareMessages } from './support/loop.ts'

const WINDOW = 6_000
const HUGE = 5 * WINDOW * 4
const json = JSON.stringify(Array.from({ length: 2_500 }, (_, id) => ({ id, berth: `B${id}`, held: id % 3 === 0 })))
const step = (results: readonly string[]): object[] => [
  { role: 'user', content: 'Read.' },
  {
    role: 'assistant',
    content: results.map((_, n) => ({ type: 'tool_use', id: `toolu_${n}`, name: 'read', input: {} })),
  },
  { role: 'user', content: results.map((content, n) => ({ type: 'tool_result', tool_use_id: `toolu_${n}`, content })) },
]

const CASES: Record<string, { messages: object[]; originals: string[] }> = {
  'a text result': { messages: step([resultText(1, HUGE)]), originals: [resultText(1, HUGE)] },
  'a JSON result': { messages: step([json]), originals: [json] },
  'a batch of twenty': {
    messages: step(Array.from({ length: 20 }, (_, n) => resultText(n, HUGE / 20))),
    originals: Array.from({ length: 20 }, (_, n) => resultText(n, HUGE / 20)),
  },
  'a pasted user message': {
    messages: [{ role: 'user', content: resultText(1, HUGE) }],
    originals: [resultText(1, HUGE)],
  },
}

describe('C3: one message of five windows', () => {
  it.each(Object.entries(CASES))(
    '%s fits in the next request, and its bytes come back',
    async (_, { messages, originals }) => {
      const { session, deps } = testEngine()
      const turn = await prepareMessages(session(), messages, WINDOW)
      expect(turn.load.count.high).toBeLessThanOrEqual(turn.limit.tokens)
      expect(anthropicMessages.check(JSON.parse(turn.text))).toEqual([])
      const stored: string[] = []
      for (const handle of handlesIn(turn.text))
        stored.push(Buffer.from((await deps.artifacts.read('local', handle))!).toString())
      const view = anthropicMessages.decode(turn.text).items.map((item) => item.text)
      for (const original of originals) expect([...stored, ...view]).toContain(original)
      // Each is still there in some form.
      expect(view.filter((text) => text.length > 50).length).toBeGreaterThanOrEqual(originals.length)
    },
  )
})

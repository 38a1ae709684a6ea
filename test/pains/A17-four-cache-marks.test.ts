import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anthropicMessages } from '../../src/formats/anthropic-messages/wire.ts'
import { resultText } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'
import { asyncProperty, SEED } from '../support/property.ts'
import { occurrences, prepareMessages } from './support/loop.ts'

const MARK = { cache_control: { type: 'ephemeral', ttl: '1h' } }
const marked = (here: boolean): object => (here ? MARK : {})

/** Up to four marks anywhere, and one to eight parallel results in each step. */
const request = fc.record({
  system: fc.boolean(),
  tools: fc.boolean(),
  steps: fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 4, maxLength: 12 }),
  /** Where in the history, as shares of it. */
  history: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 2 }),
  window: fc.integer({ min: 2_500, max: 6_000 }),
})

describe('A17: cache marks', () => {
  it(`are never more than four after a reduction and keep their ttl (seed ${SEED})`, async () => {
    let reduced = 0
    await asyncProperty(
      request,
      async ({ system, tools, steps, history, window }) => {
        const total = steps.reduce((sum, count) => sum + count, 0)
        const places = new Set(history.map((share) => Math.min(total - 1, Math.floor(share * total))))
        const messages: object[] = [{ role: 'user', content: 'Go.' }]
        let at = 0
        for (const [s, count] of steps.entries()) {
          const ids = Array.from({ length: count }, (_, i) => `toolu_${s}_${i}`)
          messages.push({
            role: 'assistant',
            content: ids.map((id) => ({ type: 'tool_use', id, name: 'read', input: {} })),
          })
          messages.push({
            role: 'user',
            content: ids.map((id) => ({
              type: 'tool_result',
              tool_use_id: id,
              content: resultText(at, 300),
              ...marked(places.has(at++)),
            })),
          })
        }
        const extra = {
          system: [{ type: 'text', text: 'Be careful.', ...marked(system) }],
          tools: [{ name: 'read', input_schema: { type: 'object' }, ...marked(tools) }],
        }
        const turn = await prepareMessages(testEngine().session(), messages, window, extra)
        if (turn.edits.length > 0) reduced++
        const marks = occurrences(turn.text, '"cache_control"')
        const own = Number(system) + Number(tools) + places.size
        expect(marks).toBeLessThanOrEqual(Math.min(4, own))
        // Only a mark without any block before it may go.
        expect(marks).toBeGreaterThanOrEqual(Number(system) + Number(tools) + Math.min(1, places.size))
        expect(occurrences(turn.text, JSON.stringify(MARK).slice(1, -1))).toBe(marks)
        expect(anthropicMessages.check(JSON.parse(turn.text))).toEqual([])
      },
      80,
    )
    expect(reduced).toBeGreaterThan(30)
  })
})

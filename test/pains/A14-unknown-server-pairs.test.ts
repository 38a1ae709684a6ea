import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { resultText } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'
import { asyncProperty, SEED } from '../support/property.ts'
import { occurrences, prepareMessages } from './support/loop.ts'

/** Steps of an agent; some hold a pair of block types that nobody has heard of. */
const steps = fc.array(fc.record({ invented: fc.boolean(), before: fc.boolean(), size: fc.integer({ min: 50, max: 2_500 }) }), {
  minLength: 12,
  maxLength: 30,
})

describe('A14: invented tool pairs of a provider', () => {
  it(`stay or go together in every output (seed ${SEED})`, async () => {
    let gone = 0
    await asyncProperty(
      steps,
      async (list) => {
        const messages: object[] = [{ role: 'user', content: 'Search.' }]
        for (const [n, { invented, before, size }] of list.entries()) {
          const pair = invented
            ? [
                { type: 'x_tool_use', id: `x${n}!`, name: 'look', input: { q: resultText(n, 900) } },
                { type: 'x_tool_result', tool_use_id: `x${n}!`, content: [{ type: 'x_hit', text: resultText(n, 900) }] },
              ]
            : []
          if (invented && before) {
            // A turn in which the provider ran the tool and nobody else did.
            messages.push({ role: 'assistant', content: [...pair, { type: 'text', text: `Found ${n}.` }] })
            messages.push({ role: 'user', content: resultText(n, size) })
            continue
          }
          const call = { type: 'tool_use', id: `toolu_${n}`, name: 'read', input: {} }
          messages.push({ role: 'assistant', content: [call, ...pair] })
          messages.push({
            role: 'user',
            content: [{ type: 'tool_result', tool_use_id: `toolu_${n}`, content: resultText(n, size) }],
          })
        }
        const { text } = await prepareMessages(testEngine().session(), messages, 4_000)
        const sent = JSON.parse(text) as { messages: object[] }
        const blocks = JSON.stringify(sent.messages)
        for (const [n, { invented }] of list.entries()) {
          if (!invented) continue
          const uses = occurrences(blocks, `"x_tool_use","id":"x${n}!"`)
          expect(occurrences(blocks, `"x_tool_result","tool_use_id":"x${n}!"`)).toBe(uses)
          if (uses === 0) gone++
        }
      },
      60,
    )
    expect(gone).toBeGreaterThan(50)
  })
})

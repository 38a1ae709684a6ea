import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toolLoop } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'
import { asyncProperty, SEED } from '../support/property.ts'
import { ANTHROPIC, occurrences, targets } from './support/loop.ts'

const action = fc.constantFrom('send', 'send', 'compact', 'undo', 'tool-result', 'status')

describe('F3: calls that overlap', () => {
  it(`keep every input exactly once and in order, however they interleave (seed ${SEED})`, async () => {
    await asyncProperty(
      fc.array(action, { minLength: 5, maxLength: 25 }),
      async (actions) => {
        const { session, deps } = testEngine()
        const agent = session()
        let steps = 24
        const waiting: Promise<unknown>[] = []
        const turns: Promise<{ text: string; load: { count: { high: number } }; limit: { tokens: number } }>[] = []
        // Nothing is awaited: everything is in flight at once.
        for (const what of actions) {
          if (what === 'send') {
            const body = JSON.stringify(toolLoop({ steps: ++steps, resultLength: 600 }))
            turns.push(agent.prepare({ format: ANTHROPIC, body, targets: targets() }))
          } else if (what === 'compact') waiting.push(agent.compact())
          else if (what === 'undo') waiting.push(agent.undo())
          else if (what === 'tool-result') waiting.push(agent.toolResult({ tool: 'read', output: 'x'.repeat(20_000) }))
          else waiting.push(agent.status())
        }
        await Promise.all(waiting)
        for (const turn of await Promise.all(turns)) {
          expect(turn.load.count.high).toBeLessThanOrEqual(turn.limit.tokens)
          const { messages } = JSON.parse(turn.text) as { messages: object[] }
          const text = JSON.stringify(messages)
          const seen = [...text.matchAll(/"tool_use_id":"toolu_(\d+)"/g)].map((match) => Number(match[1]))
          expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b))
          expect(occurrences(text, '[Condensed record of')).toBeLessThanOrEqual(1)
        }
        const archived: string[] = []
        for await (const { record } of deps.sessions.read('local', 'test'))
          if (record.type === 'item-seen') archived.push(record.identity)
        expect(new Set(archived).size).toBe(archived.length)
      },
      40,
    )
  })
})

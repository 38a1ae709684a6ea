import { describe, expect, it } from 'vitest'
import { testEngine } from '../support/engine.ts'
import { prepareMessages } from './support/loop.ts'

/** The acceptance line in a twentieth: twenty parallel results of five megabytes, of tools that nobody declared. */
const results = Array.from({ length: 20 }, (_, n) => `${n}: ${'all work and no play '.repeat(5_000_000 / 20 / 21)}`)

describe('J9: parallel results of any size and source', () => {
  it('together stay below the limit, each with a handle, and no more is counted than needed', async () => {
    const { session, deps } = testEngine()
    const ids = results.map((_, n) => `toolu_${n}`)
    const turn = await prepareMessages(
      session(),
      [
        { role: 'user', content: 'Go.' },
        { role: 'assistant', content: ids.map((id) => ({ type: 'tool_use', id, name: `mcp__any__${id}`, input: {} })) },
        { role: 'user', content: ids.map((id, n) => ({ type: 'tool_result', tool_use_id: id, content: results[n] })) },
      ],
      16_000,
    )
    expect(turn.load.count.high).toBeLessThanOrEqual(turn.limit.tokens)
    expect(turn.report.shortened).toHaveLength(20)
    for (const { handle, originalBytes } of turn.report.shortened)
      expect((await deps.artifacts.stat('local', handle))!.bytes).toBe(originalBytes)
    expect(turn.text.length).toBeLessThan(16_000 * 5)
  })
})

import { describe, expect, it } from 'vitest'
import { isPlimsollError } from '../../src/core/errors.ts'
import { toolLoop } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'
import { ANTHROPIC, targets } from './support/loop.ts'

/** Instructions of 70 % and tools of 30 % of what fits; the history on top is small and cannot help. */
const heavy = (steps: number) => ({
  ...toolLoop({ steps, resultLength: 100 }),
  system: 'x'.repeat(20_000),
  tools: [{ name: 'everything', description: 'y'.repeat(10_000), input_schema: { type: 'object' } }],
})

describe('C5: fixed parts above the line', () => {
  it('end in one typed error that lists the largest of them with their tokens, and touch nothing', async () => {
    const { session, deps, events } = testEngine()
    const agent = session()
    for (let steps = 1; steps <= 5; steps++) {
      const error: unknown = await agent
        .prepare({ format: ANTHROPIC, body: heavy(steps), targets: targets() })
        .catch((caught: unknown) => caught)
      expect(isPlimsollError(error, 'fixed-overhead')).toBe(true)
      if (!isPlimsollError(error)) return
      const parts = error.fields['parts'] as { what: string; tokens: number }[]
      expect(parts.slice(0, 2).map(({ what }) => what)).toEqual(['instructions', expect.stringContaining('tool')])
      expect(parts[0]!.tokens).toBeGreaterThan(4_900)
      expect(error.message).toContain(parts[0]!.tokens.toLocaleString('en'))
    }
    expect(events.filter((event) => event.type === 'usage-recorded')).toEqual([])
    expect(await deps.sessions.version('local', 'test')).toBeLessThanOrEqual(5)
  })
})

import { describe, expect, it } from 'vitest'
import type { Policy } from '../../src/core/policy.ts'
import { designOf } from '../../src/engine/presets/design.ts'
import { policyNamed } from '../../src/engine/presets/index.ts'
import { occurrences, runLoop } from './support/loop.ts'
import { fakeSummarizer, sound, SUMMARISING, summarisingEngine } from './support/summarizer.ts'

const WORDS = 'Continue working; do not ask the user to repeat anything.'
const policy: Policy = {
  ...SUMMARISING,
  design: { name: 'hands-over', steps: designOf(policyNamed('contextguard')).steps },
  cascade: [
    { step: 'summarise', tail: 0 },
    { step: 'squeeze', floorTokens: 120 },
  ],
}
const EXTRA = { system: 'You are the planner.', tool_choice: { type: 'auto' }, metadata: { mode: 'plan' } }

describe('F5: a run that was compacted in its middle', () => {
  it.each(['high water', 'on demand', 'a smaller window'])(
    'goes on once, as the same model with the same tools and mode (%s)',
    async (how) => {
      const { agent, events } = summarisingEngine(fakeSummarizer(sound), policy)
      const epochs = () => events.filter((event) => event.type === 'epoch-declared').length
      await runLoop(agent, { to: 30, extra: EXTRA })
      if (how === 'on demand') {
        await agent.compact()
        // Nothing is sent by asking for it: an idle session stays idle.
        expect(epochs()).toBe(0)
      }
      const steps = how === 'high water' ? 60 : 31
      const turn = await runLoop(agent, {
        from: steps,
        to: steps,
        extra: EXTRA,
        window: how === 'a smaller window' ? 3_000 : 8_000,
      })
      expect(epochs()).toBe(1)
      expect(occurrences(turn.text, WORDS)).toBe(1)
      expect(JSON.parse(turn.text)).toMatchObject({ model: 'claude-sonnet-4-5', tools: [{ name: 'read' }], ...EXTRA })
      const later = await runLoop(agent, {
        from: steps + 1,
        to: steps + 1,
        extra: EXTRA,
        window: how === 'a smaller window' ? 3_000 : 8_000,
      })
      expect(occurrences(later.text, WORDS)).toBe(1)
    },
  )
})

import { describe, expect, it } from 'vitest'
import { intent } from '../../src/engine/presets/adk-code.ts'
import { story } from '../../src/engine/presets/autosre/narrative.ts'
import { handover } from '../../src/engine/presets/contextguard/policy.ts'
import { record } from '../../src/engine/presets/cyber-autoagent/policy.ts'
import { codecOf } from '../../src/formats/registry.ts'
import { WIRES } from '../support/generators/index.ts'
import { summaryDesign } from '../support/summary-design.ts'
import { plainBody } from './support/plain-bodies.ts'
import { fakeSummarizer, sound, SUMMARISING, summarisingEngine } from './support/summarizer.ts'

/** Every cut of an excerpt falls somewhere in these. */
const ODD = '👩‍👩‍👧‍👦𠀋🚢e\u0301漢字𝒳 '

describe('A10: the compaction request', () => {
  it.each(
    WIRES.flatMap((from) =>
      Object.entries({ handover, intent, story, record }).map(([name, style]) => [from, name, style] as const),
    ),
  )('for a history of %s in the style %s is plain, well-formed text that every wire takes', async (from, _, style) => {
    const fake = fakeSummarizer(sound, 3_000)
    const { agent } = summarisingEngine(fake, { ...SUMMARISING, design: summaryDesign(0.2, style) })
    const steps = Array.from({ length: 40 }, (_, n) => ({
      text: n % 2 === 0 ? ODD.repeat(9 + n) : '',
      calls: [{ name: 'read', args: { path: `${ODD}${n}` }, result: ODD.repeat(23 + n) }],
    }))
    const body = plainBody(from, [
      { user: ODD.repeat(50), steps: steps.map(({ text, calls }) => (text === '' ? { calls } : { text, calls })) },
    ])
    await agent.prepare({ format: from, body, targets: [{ model: 'm', window: 7_000 }] })
    // Also `intent`, which reads what people said: they said nothing in what is folded here, so it reads what was done for the request.
    expect(fake.requests).not.toEqual([])
    for (const { system, prompt, maxOutputTokens } of fake.requests) {
      expect(prompt.trim()).not.toBe('')
      expect(prompt).not.toContain('\uFFFD')
      // What it may read and what it may write fit into its own window together.
      expect(Math.ceil(prompt.length / 4) + maxOutputTokens).toBeLessThanOrEqual(3_000)
      for (const wire of WIRES)
        expect(codecOf(wire).check(plainBody(wire, [{ user: prompt, steps: [] }], system))).toEqual([])
    }
  })
})

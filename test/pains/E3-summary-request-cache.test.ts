import { describe, expect, it } from 'vitest'
import { toolLoop } from '../support/anthropic-loop.ts'
import { ANTHROPIC, targets } from './support/loop.ts'
import { fakeSummarizer, sound, summarisingEngine } from './support/summarizer.ts'

const MARK = { cache_control: { type: 'ephemeral' } }

describe('E3: the summarizer’s request', () => {
  it('carries no cache marks and none of the wire’s blocks: it pays for no cache that nobody reads', async () => {
    const loop = toolLoop({ steps: 70 })
    const marked = loop.messages.map((message, i) =>
      i === 0 || i % 40 !== 0
        ? message
        : { ...message, content: (message.content as object[]).map((block) => ({ ...block, ...MARK })) },
    )
    const fake = fakeSummarizer(sound)
    const { agent } = summarisingEngine(fake)
    await agent.prepare({ format: ANTHROPIC, body: { ...loop, messages: marked }, targets: targets() })
    expect(fake.requests.length).toBeGreaterThan(0)
    for (const { system, prompt } of fake.requests) {
      expect(prompt.length).toBeGreaterThan(1_000)
      for (const word of ['cache_control', '"tool_use"', 'tool_use_id', '"role"'])
        expect(system + prompt).not.toContain(word)
    }
  })
})

import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { testEngine } from '../support/engine.ts'
import { runLoop } from './support/loop.ts'

const LIMITS = {
  system: 'Mode: read-only. You may not edit.',
  metadata: { agent: 'explore', approval: 'always-ask' },
  tool_choice: { type: 'tool', name: 'read' },
  tools: [{ name: 'read', description: 'Reads.', input_schema: { type: 'object' } }],
}

describe('J4: mode, agent, tools and approval policy', () => {
  it('are deep-equal before and after a compaction, an undo and a resume', async () => {
    const sessions = memoryStore()
    const agent = testEngine({ sessions }).session()
    const limitsOf = (text: string): object => {
      const { messages: _, ...rest } = JSON.parse(text) as Record<string, unknown>
      return rest
    }
    const before = limitsOf((await runLoop(agent, { to: 5, extra: LIMITS })).text)
    expect(before).toMatchObject(LIMITS)
    const compacted = await runLoop(agent, { from: 70, to: 70, extra: LIMITS })
    expect(compacted.report.newEpoch).toBeDefined()
    expect(limitsOf(compacted.text)).toEqual(before)
    await agent.undo()
    expect(limitsOf((await runLoop(agent, { from: 71, to: 71, extra: LIMITS })).text)).toEqual(before)
    const resumed = testEngine({ sessions }).session()
    expect(limitsOf((await runLoop(resumed, { from: 72, to: 72, extra: LIMITS })).text)).toEqual(before)
  })
})

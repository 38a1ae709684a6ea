import { describe, expect, it } from 'vitest'
import type { Usage } from '../../src/core/usage.ts'
import { testEngine } from '../support/engine.ts'
import { runLoop } from './support/loop.ts'

const usage = (input: number): Usage => ({
  input,
  output: 20,
  cacheRead: 0,
  cacheWrite: 0,
  cacheWriteLong: 0,
  reasoning: 0,
})

describe('C7: usage that was measured before a compaction', () => {
  it('neither starts another one nor counts when it comes late', async () => {
    const { session, events } = testEngine()
    const agent = session()
    const epochs = () => events.filter((event) => event.type === 'epoch-declared').length
    const full = await runLoop(agent, { to: 45 })
    // The provider says that the prompt was nearly all that fits.
    await agent.record({ turn: full.id, usage: usage(Math.floor(full.limit.tokens * 0.945)) })
    const late = await runLoop(agent, { from: 46, to: 46 })
    const compacted = await runLoop(agent, { from: 47, to: 47 })
    expect(epochs()).toBe(1)
    const load = compacted.load.count.high
    expect(load).toBeLessThan(compacted.limit.tokens * 0.7)
    // The answer to a request of the old epoch arrives after the compaction.
    if (late.report.newEpoch === undefined) await agent.record({ turn: late.id, usage: usage(compacted.limit.tokens) })
    const next = await runLoop(agent, { from: 48, to: 48 })
    expect(next.load.count.high).toBeLessThan(compacted.limit.tokens * 0.75)
    expect(epochs()).toBe(1)
  })

  it('and one on demand is one: the requests after it do not compact again', async () => {
    const { session, events } = testEngine()
    const agent = session()
    await runLoop(agent, { to: 40 })
    await agent.compact()
    await runLoop(agent, { from: 41, to: 46 })
    expect(events.filter((event) => event.type === 'epoch-declared')).toHaveLength(1)
  })
})

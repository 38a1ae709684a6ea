import { describe, expect, it } from 'vitest'
import { testEngine } from '../support/engine.ts'
import { createSession } from '../../src/engine/session/session.ts'
import { runLoop } from './support/loop.ts'

describe('I1: a sub-agent', () => {
  it('is held to its own window over a hundred steps, whatever its parent has', async () => {
    const { deps, events } = testEngine()
    const agent = (name: string) => createSession(async () => deps, { id: 'shared', agent: name })
    const [parent, child] = [agent('main'), agent('child')]
    const before = await runLoop(parent, { from: 40, to: 40, window: 1_000_000, resultLength: 3_000, task: 'Lead.' })
    let peak = 0
    await runLoop(child, {
      to: 100,
      window: 8_000,
      resultLength: 700,
      task: 'Search.',
      onTurn: ({ load, limit }) => {
        expect(load.count.high).toBeLessThanOrEqual(limit.tokens)
        peak = Math.max(peak, load.count.high)
      },
    })
    expect(peak).toBeGreaterThan(5_000)
    expect(events.filter((event) => event.type === 'epoch-declared').every((event) => event.agent === 'child')).toBe(
      true,
    )
    // The parent's next request is untouched by what its child did.
    const after = await runLoop(parent, { from: 40, to: 40, window: 1_000_000, resultLength: 3_000, task: 'Lead.' })
    expect(after.text === before.text).toBe(true)
    expect(after.report.untouched).toBe(true)
  })
})

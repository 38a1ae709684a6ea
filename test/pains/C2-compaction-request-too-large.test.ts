import { describe, expect, it } from 'vitest'
import { handlesIn } from '../../src/core/handles.ts'
import { toolLoop } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'
import { ANTHROPIC, targets } from './support/loop.ts'

describe('C2: a history larger than any window', () => {
  it.each([1.5, 4, 20])('of %d windows is reduced without asking a model, on its first request', async (windows) => {
    const window = 10_000
    const steps = Math.ceil((windows * window * 4) / 1_200)
    const body = toolLoop({ steps, resultLength: 1_000 })
    const { session, deps } = testEngine()
    const turn = await session().prepare({ format: ANTHROPIC, body, targets: targets(window) })
    expect(turn.report.loadOriginal).toBeGreaterThan(windows * window * 0.9)
    expect(turn.load.count.high).toBeLessThanOrEqual(deps.policy.water.low * turn.limit.tokens)
    expect(turn.text).toContain('Find the bug in the parser.')
    for (const handle of handlesIn(turn.text)) expect(await deps.artifacts.read('local', handle)).toBeDefined()
  })
})

import { describe, expect, it } from 'vitest'
import type { Usage } from '../../src/core/usage.ts'
import { testEngine } from '../support/engine.ts'
import { runLoop } from './support/loop.ts'

const NONE: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 }

/** The step at which the first compaction comes, when each answer reports as told. */
async function triggerAt(report: (load: number) => Usage | undefined): Promise<number> {
  const { session, events } = testEngine()
  const agent = session()
  let at = 0
  for (let steps = 1; at === 0 && steps < 90; steps++) {
    const turn = await runLoop(agent, { from: steps, to: steps })
    if (turn.report.newEpoch !== undefined) at = steps
    const usage = report(turn.load.count.tokens)
    await agent.record({ turn: turn.id, ...(usage !== undefined && { usage }) })
  }
  if (report(1) === undefined) expect(events.some((event) => event.type === 'usage-missing')).toBe(true)
  return at
}

describe('D3: usage that is missing or zero', () => {
  it('does not move the trigger: absent, all zeros and true reports fire within ten percent', async () => {
    const reported = await triggerAt((load) => ({ ...NONE, input: load, output: 20 }))
    const absent = await triggerAt(() => undefined)
    const zeros = await triggerAt(() => NONE)
    expect(reported).toBeGreaterThan(30)
    expect(Math.abs(absent / reported - 1)).toBeLessThan(0.1)
    expect(Math.abs(zeros / reported - 1)).toBeLessThan(0.1)
  })
})

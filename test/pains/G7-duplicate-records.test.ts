import { describe, expect, it } from 'vitest'
import { testEngine } from '../support/engine.ts'
import { runLoop } from './support/loop.ts'

describe('G7: the archive after ten compactions', () => {
  it('has one row per item and one per epoch, none twice', async () => {
    const { session, deps, events } = testEngine()
    const agent = session()
    const epochs = () => events.filter((event) => event.type === 'epoch-declared').length
    let steps = 0
    while (epochs() < 10) await runLoop(agent, { from: ++steps, to: steps, resultLength: 900, window: 3_500 })
    // The same history again, and from a second session object.
    await runLoop(agent, { from: steps, to: steps, resultLength: 900, window: 3_500 })
    await runLoop(session(), { from: steps, to: steps, resultLength: 900, window: 3_500 })
    const rows: string[] = []
    let declared = 0
    for await (const { record } of deps.sessions.read('local', 'test')) {
      if (record.type === 'item-seen') rows.push(record.identity)
      if (record.type === 'epoch') declared++
    }
    // The task, and three items for each step.
    expect(rows).toHaveLength(1 + 3 * steps)
    expect(new Set(rows).size).toBe(rows.length)
    expect(declared).toBe(10)
  })
})

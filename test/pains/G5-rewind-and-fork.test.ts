import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { testEngine } from '../support/engine.ts'
import { runLoop } from './support/loop.ts'

describe('G5: a rewind', () => {
  it('to any turn of a session with three compactions rebuilds the request that was sent there', async () => {
    const sessions = memoryStore()
    const { session, events } = testEngine({ sessions })
    const agent = session()
    const sent = new Map<number, string>()
    const size = { resultLength: 900, window: 5_000 }
    for (let steps = 1; events.filter((event) => event.type === 'epoch-declared').length < 3; steps++)
      sent.set(steps, (await runLoop(agent, { from: steps, to: steps, ...size })).text)
    for (const [steps, text] of [...sent].reverse()) {
      const again = await runLoop(agent, { from: steps, to: steps, ...size })
      expect(again.text === text, `turn ${steps}`).toBe(true)
    }
    // And in a fork, which knows all of it.
    const fork = await agent.fork('other')
    for (const steps of [1, Math.floor(sent.size / 2), sent.size])
      expect((await runLoop(fork, { from: steps, to: steps, ...size })).text === sent.get(steps)).toBe(true)
  })
})

import { describe, expect, it } from 'vitest'
import { testEngine } from '../support/engine.ts'
import { createSession } from '../../src/engine/session/session.ts'
import { runLoop } from './support/loop.ts'
import { fakeSummarizer, SUMMARISING } from './support/summarizer.ts'

const TIME_MS = 50

describe('F2: a summary that takes long', () => {
  it('holds one request up by the time of the policy at most, and code writes the record', async () => {
    const waited: number[] = []
    const fake = fakeSummarizer(({ signal }) => {
      const startedAt = performance.now()
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          waited.push(performance.now() - startedAt)
          reject(signal.reason as Error)
        })
      })
    })
    const engine = testEngine({ policy: { ...SUMMARISING, timeMs: TIME_MS } })
    const agent = createSession(async () => ({ ...engine.deps, summarizer: fake }), { id: 'test' })
    const turn = await runLoop(agent, { to: 60 })
    expect(waited).toHaveLength(1)
    expect(waited[0]).toBeGreaterThanOrEqual(TIME_MS - 1)
    expect(turn.epoch).toBeDefined()
    expect(turn.load.count.high).toBeLessThanOrEqual(turn.limit.tokens)
  })
})

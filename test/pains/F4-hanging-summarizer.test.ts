import { describe, expect, it } from 'vitest'
import { runLoop } from './support/loop.ts'
import { fakeSummarizer, SUMMARISING, summarisingEngine } from './support/summarizer.ts'

/** Ends only when it is told to. */
const hangs = ({ signal }: { signal: AbortSignal }): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })

describe('F4: a summarizer that hangs or throws', () => {
  it.each([
    ['hangs', hangs],
    ['throws', () => Promise.reject(new Error('boom'))],
    [
      'throws before it starts',
      () => {
        throw new Error('not even started')
      },
    ],
  ] as const)('(%s) holds no request: it is answered by code within the policy’s time', async (_, answer) => {
    const fake = fakeSummarizer(answer)
    const { agent, events } = summarisingEngine(fake, { ...SUMMARISING, timeMs: 20 })
    const turn = await runLoop(agent, { to: 60 })
    expect(turn.epoch).toBeDefined()
    expect(turn.load.count.high).toBeLessThanOrEqual(turn.limit.tokens)
    expect(fake.requests).toHaveLength(1)
    expect(events.filter((event) => event.type === 'degraded')).toHaveLength(1)
  })
})

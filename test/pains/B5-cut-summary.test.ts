import { describe, expect, it } from 'vitest'
import type { StopReason } from '../../src/core/codec.ts'
import { runLoop } from './support/loop.ts'
import { fakeSummarizer, SOUND, sound, summarisingEngine } from './support/summarizer.ts'

describe('B5: a summary that was cut at the output limit', () => {
  it.each<StopReason>(['length', 'pause', 'error', 'unknown'])('is never accepted (stop: %s)', async (stop) => {
    const summarizer = fakeSummarizer(() => ({ text: `${SOUND} FRAGMENT-4711 and then the`, stop }))
    const { agent, deps, events } = summarisingEngine(summarizer)
    const turn = await runLoop(agent, { to: 60 })
    expect(events.some((event) => event.type === 'epoch-declared')).toBe(true)
    expect(turn.load.count.high).toBeLessThanOrEqual(turn.limit.tokens)
    expect(turn.text).not.toContain('FRAGMENT-4711')
    for await (const { record } of deps.sessions.read('local', 'test'))
      expect(JSON.stringify(record)).not.toContain('FRAGMENT-4711')
    // One retry, then code wrote it.
    expect(summarizer.requests).toHaveLength(2)
    const reasons = events.flatMap((event) => (event.type === 'summary-rejected' ? [event.reason] : []))
    expect(reasons).toEqual([`it stopped for ${stop}`, `it stopped for ${stop}`])
  })

  it('is accepted after a natural stop', async () => {
    const { agent } = summarisingEngine(fakeSummarizer(sound))
    expect((await runLoop(agent, { to: 60 })).text).toContain(SOUND)
  })
})

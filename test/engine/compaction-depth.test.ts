import { describe, expect, it } from 'vitest'
import { policyNamed } from '../../src/engine/presets/index.ts'
import { createPlimsoll } from '../../src/index.ts'
import { resultText, toolLoop } from '../support/anthropic-loop.ts'
import { ANTHROPIC, MODEL } from '../pains/support/loop.ts'

interface Depth {
  /** Likely tokens of the first request behind a compaction, and how many more they may be at most. */
  readonly tokens: number
  readonly width: number
}

/** An agent until its second compaction: by then a provider that reports usage has said how it counts. */
async function secondCompaction(reportsUsage: boolean): Promise<Depth> {
  const plimsoll = createPlimsoll({ store: 'memory:', secret: new Uint8Array(32).fill(5) })
  const session = plimsoll.session({ id: 'depth' })
  let compactions = 0
  for (let steps = 1; ; steps++) {
    const turn = await session.prepare({
      format: ANTHROPIC,
      body: toolLoop({ steps, resultLength: 1_500 }),
      targets: [{ model: MODEL, window: 32_000 }],
    })
    const { tokens, high } = turn.load.count
    if (reportsUsage)
      await session.record({
        turn: turn.id,
        usage: { input: Math.round(tokens), cacheRead: 0, cacheWrite: 0, output: 20, reasoning: 0 },
      })
    if (turn.report.newEpoch === undefined || ++compactions < 2) continue
    await plimsoll.close()
    return { tokens, width: high / tokens }
  }
}

describe('how deep a compaction cuts', () => {
  it('does not depend on how sure the count is', async () => {
    const [unsure, sure] = [await secondCompaction(false), await secondCompaction(true)]
    expect(unsure.width).toBeGreaterThan(sure.width * 1.05)
    expect(Math.abs(unsure.tokens - sure.tokens)).toBeLessThan(0.05 * sure.tokens)
  })
})

describe('a request that the provider’s own count says is too long', () => {
  it('is compacted, although the bound of what is left is wider than that count', async () => {
    const plimsoll = createPlimsoll({ store: 'memory:', secret: new Uint8Array(32).fill(5) })
    const session = plimsoll.session({ id: 'wide' })
    // Most of the window is instructions of a model that nobody has measured: after a compaction nothing of the count is known but these bounds.
    const target = { model: 'some-model', window: 32_000 }
    const system = resultText(1, 58_000)
    for (let steps = 1, reported = 0; ; steps++) {
      const turn = await session.prepare({
        format: ANTHROPIC,
        body: { ...toolLoop({ steps, resultLength: 900 }), model: target.model, system },
        targets: [target],
      })
      const { tokens } = turn.load.count
      const usage = { input: Math.round(tokens), cacheRead: 0, cacheWrite: 0, output: 20, reasoning: 0 }
      await session.record({ turn: turn.id, usage })
      // The first request is compacted too, before anybody has reported anything.
      if (steps === 1 || turn.report.loadBefore <= turn.limit.tokens) {
        reported = usage.input
        continue
      }
      expect(turn.report.newEpoch).toBeDefined()
      expect(tokens).toBeLessThan(0.75 * reported)
      break
    }
    await plimsoll.close()
  })
})

describe('what a compaction aims at', () => {
  it('is what the policy says, however low', async () => {
    const usual = policyNamed('plimsoll')
    const policy = { ...usual, water: { ...usual.water, high: 0.35, low: 0.15 } }
    const plimsoll = createPlimsoll({ store: 'memory:', secret: new Uint8Array(32).fill(5), policy })
    const session = plimsoll.session({ id: 'low' })
    for (let steps = 1; ; steps++) {
      const turn = await session.prepare({
        format: ANTHROPIC,
        body: toolLoop({ steps, resultLength: 1_500 }),
        targets: [{ model: MODEL, window: 32_000 }],
      })
      if (turn.report.newEpoch === undefined) continue
      expect(turn.report.thresholds.low).toBeLessThan(0.25 * turn.limit.tokens)
      expect(turn.load.count.tokens).toBeLessThan(0.25 * turn.limit.tokens)
      break
    }
    await plimsoll.close()
  })

  it('is told as it was behind a long task, which it did not miss', async () => {
    const task = Array.from({ length: 900 }, (_, n) => `Rule ${n}: no request of shard ${n} waits for another one.`)
    const plimsoll = createPlimsoll({ store: 'memory:', secret: new Uint8Array(32).fill(5) })
    const session = plimsoll.session({ id: 'long task' })
    for (let steps = 1; ; steps++) {
      const { messages, ...envelope } = toolLoop({ steps, resultLength: 1_500 })
      const turn = await session.prepare({
        format: ANTHROPIC,
        body: { ...envelope, messages: [{ role: 'user', content: task.join('\n') }, ...messages.slice(1)] },
        targets: [{ model: MODEL, window: 48_000 }],
      })
      if (turn.report.newEpoch === undefined) continue
      expect(turn.text).toContain(task.at(-1))
      expect(turn.load.count.tokens).toBeLessThanOrEqual(turn.report.thresholds.low)
      expect(turn.report.tight).toBe(false)
      break
    }
    await plimsoll.close()
  })
})

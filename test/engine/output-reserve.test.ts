import { describe, expect, it } from 'vitest'
import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import { policyNamed } from '../../src/engine/presets/index.ts'
import { limitOf } from '../../src/meter/index.ts'
import { toolLoop } from '../support/anthropic-loop.ts'
import { plainMeter, testEngine } from '../support/engine.ts'

const WINDOW = 60_000
const targets = [{ model: 'claude-sonnet-4-5', window: WINDOW }]
/** About 100 tokens a step beside the result. */
const body = (steps: number, maxTokens: number, more: object = {}) => ({
  ...toolLoop({ steps, resultLength: 4_000, maxTokens }),
  ...more,
})
const prepare = (engine: ReturnType<typeof testEngine>, request: object) =>
  engine.session().prepare({ format: 'anthropic-messages', body: request, targets })
const capOf = (text: string): number => (JSON.parse(text) as { max_tokens: number }).max_tokens

describe('the output cap', () => {
  it('is lowered by what is missing, and history stays as it is', async () => {
    const engine = testEngine()
    // 35 steps are about 36,600 tokens; with 30,000 for the answer they do not fit into 60,000.
    const turn = await prepare(engine, body(35, 30_000))
    expect(turn.report.newEpoch).toBeUndefined()
    expect(turn.edits).toEqual([])
    const cap = capOf(turn.text)
    expect(cap).toBeLessThan(30_000)
    expect(cap).toBeGreaterThanOrEqual(7_500)
    expect(turn.load.count.high + cap + turn.limit.buffer).toBeLessThanOrEqual(WINDOW)
    expect(JSON.parse(turn.text)).toEqual({ ...body(35, cap) })
    expect(engine.events).toContainEqual(expect.objectContaining({ type: 'output-lowered', asked: 30_000, to: cap }))
  })

  it('stays as it is while the request fits', async () => {
    const turn = await prepare(testEngine(), body(20, 30_000))
    expect(turn.report.untouched).toBe(true)
  })

  it('is never below a quarter of what was asked, nor below 4,096 tokens: then history gives way', async () => {
    const quarter = await prepare(testEngine(), body(52, 30_000))
    expect(quarter.report.newEpoch).toBeDefined()
    expect(capOf(quarter.text)).toBe(30_000)
    const small = await prepare(testEngine(), body(54, 6_000))
    expect(small.report.newEpoch).toBeDefined()
    expect(capOf(small.text)).toBe(6_000)
  })

  it('is not lowered below a thinking budget, which the wire would refuse', async () => {
    const thinking = { thinking: { type: 'enabled', budget_tokens: 29_500 } }
    const turn = await prepare(testEngine(), body(35, 30_000, thinking))
    expect(capOf(turn.text)).toBe(30_000)
    expect(turn.report.newEpoch).toBeDefined()
    expect(turn.load.count.high).toBeLessThanOrEqual(turn.limit.tokens)
  })

  it('is left alone by a policy that does not permit it', async () => {
    const { lowerOutput: _, ...policy } = policyNamed('plimsoll')
    const turn = await prepare(testEngine({ policy }), body(35, 30_000))
    expect(capOf(turn.text)).toBe(30_000)
    expect(turn.report.newEpoch).toBeDefined()
  })

  it('keeps prompt + cap + buffer within the window for every window and cap', async () => {
    for (const window of [16_000, 40_000, 60_000, 120_000]) {
      for (const cap of [1_000, 8_000, 30_000, 64_000]) {
        for (const steps of [2, 12, 40]) {
          const request = { format: 'anthropic-messages', body: body(steps, cap) }
          const attempt = testEngine()
            .session()
            .prepare({ ...request, targets: [{ model: 'claude-sonnet-4-5', window }] })
          const turn = await attempt.catch((error: unknown) => {
            expect(error).toMatchObject({ code: expect.stringMatching(/fixed-overhead|limit-not-positive/) })
          })
          if (turn === undefined) continue
          expect(turn.load.count.high + capOf(turn.text) + turn.limit.buffer).toBeLessThanOrEqual(window)
          expect(capOf(turn.text)).toBeGreaterThanOrEqual(Math.min(cap, Math.max(4_096, cap / 4)))
        }
      }
    }
  })

  it('is lowered at once when it leaves no room for any prompt', async () => {
    const catalogue = bundledCatalogue()
    const meter = {
      ...plainMeter,
      limitOf: (...[target, settings, buffer]: Parameters<typeof plainMeter.limitOf>) =>
        limitOf(target, settings, buffer, catalogue),
    }
    const turn = await prepare(testEngine({ meter }), body(2, 60_000))
    expect(capOf(turn.text)).toBe(15_000)
    const { lowerOutput: _, ...policy } = policyNamed('plimsoll')
    await expect(prepare(testEngine({ meter, policy }), body(2, 60_000))).rejects.toMatchObject({
      code: 'limit-not-positive',
    })
  })
})

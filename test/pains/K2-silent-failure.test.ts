import { describe, expect, it } from 'vitest'
import { isPlimsollError } from '../../src/core/errors.ts'
import { toolLoop } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'
import { ANTHROPIC, runLoop, targets } from './support/loop.ts'

const prepare = (body: unknown, window = 8_000, format = ANTHROPIC) =>
  testEngine()
    .session()
    .prepare({ format, body: body as object, targets: targets(window) })

const CAUSES: Record<string, { run: () => Promise<unknown>; code: string }> = {
  'fixed parts too large': { run: () => prepare({ ...toolLoop({ steps: 2 }), system: 'x'.repeat(90_000) }), code: 'fixed-overhead' },
  'not a request': { run: () => prepare('{"messages":'), code: 'bad-input' },
  'an unknown wire': { run: () => prepare({}, 8_000, 'telegraph'), code: 'unsupported' },
  'a pin of nothing': { run: () => testEngine().session().pin('nothing'), code: 'not-found' },
  'a turn that is not open': { run: () => testEngine().session().record({ turn: 'turn-9' }), code: 'not-found' },
}

describe('K2: a failure', () => {
  it.each(Object.entries(CAUSES))('says what it is: %s', async (_, { run, code }) => {
    const error: unknown = await run().catch((caught: unknown) => caught)
    expect(isPlimsollError(error) && error.code).toBe(code)
    expect((error as Error).message.length).toBeGreaterThan(20)
  })

  it('is never a success above the limit', async () => {
    for (let window = 1_200; window < 9_000; window += 300) {
      const outcome = await runLoop(testEngine().session(), { from: 40, to: 40, window, maxTokens: 256, extra: { system: 's'.repeat(4_000) } }).catch((error: unknown) => error)
      if (isPlimsollError(outcome)) expect(['fixed-overhead', 'limit-not-positive']).toContain(outcome.code)
      else expect((outcome as { load: { count: { high: number } } }).load.count.high).toBeLessThanOrEqual((outcome as { limit: { tokens: number } }).limit.tokens)
    }
  })
})

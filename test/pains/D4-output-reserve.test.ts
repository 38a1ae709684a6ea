import { describe, expect, it } from 'vitest'
import { isPlimsollError } from '../../src/core/errors.ts'
import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import { limitOf } from '../../src/meter/index.ts'
import { plainMeter, testEngine } from '../support/engine.ts'
import { toolLoop } from '../support/anthropic-loop.ts'
import { ANTHROPIC } from './support/loop.ts'

const WINDOWS = [4_000, 8_000, 32_000, 200_000, 1_000_000]
const OUTPUTS = [1_000, 4_096, 16_000, 64_000]
const catalogue = bundledCatalogue()
const meter: typeof plainMeter = {
  ...plainMeter,
  limitOf: (target, settings, buffer) => limitOf(target, settings, buffer, catalogue),
}

describe('D4: the room for the answer', () => {
  it.each(WINDOWS.flatMap((window) => OUTPUTS.map((output) => [window, output] as const)))(
    'is kept free in a window of %i with an answer of %i, or a typed error says that it cannot be',
    async (window, maxTokens) => {
      const body = toolLoop({ steps: 40, resultLength: Math.ceil(window / 8), maxTokens })
      const attempt = testEngine({ meter })
        .session()
        .prepare({ format: ANTHROPIC, body, targets: [{ model: 'm', window }] })
      const outcome = await attempt.catch((error: unknown) => error)
      if (isPlimsollError(outcome)) {
        expect(['limit-not-positive', 'fixed-overhead']).toContain(outcome.code)
        expect(maxTokens).toBeGreaterThan(0.5 * window)
        return
      }
      const { load, text } = outcome as Awaited<typeof attempt>
      // What leaves asks for no more than what is left, whatever the client asked for.
      const asked = (JSON.parse(text) as { max_tokens: number }).max_tokens
      expect(asked).toBeLessThanOrEqual(maxTokens)
      expect(load.count.high + asked).toBeLessThanOrEqual(window)
    },
  )
})

import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import { learnedLimits, lessonOf } from '../../src/engine/learning/learned-limits.ts'
import { classifyProviderError } from '../../src/formats/overflow/classify.ts'
import { limitOf } from '../../src/meter/index.ts'

const catalogue = bundledCatalogue()
const place = (endpoint: string) => ({ tenant: 't', endpoint, model: 'qwen-local' })

describe('D5: one model id on several endpoints', () => {
  it('has the window of each, with who said so; a rejection names that of an endpoint of which nobody said it', async () => {
    const known = learnedLimits(memoryStore(), { now: () => 1_000 })
    const limitAt = async (endpoint: string, window?: number) => {
      const learned = await known.of(place(endpoint))
      const target = { model: 'qwen-local', endpoint, window, learned }
      return limitOf(target, { maxOutputTokens: 512 }, { fraction: 0, min: 0, max: 0 }, catalogue)
    }
    expect(await limitAt('a', 8_000)).toMatchObject({ window: 8_000, source: 'config' })
    expect(await limitAt('b', 200_000)).toMatchObject({ window: 200_000, source: 'config' })
    expect(await limitAt('c')).toMatchObject({ source: 'default' })

    const refusal = classifyProviderError({
      status: 400,
      body: {
        error: {
          message:
            "This model's maximum context length is 16384 tokens. However, your messages resulted in 20000 tokens.",
          code: 'context_length_exceeded',
        },
      },
    })
    if (refusal.kind !== 'overflow') throw new Error('not recognised')
    const lesson = lessonOf({ ...refusal, kind: 'overflow' }, { tokens: 20_000, outputReserve: 512, bytes: 80_000 })
    await known.learn(place('c'), lesson.learned!, 'refusal')
    const after = await limitAt('c')
    expect(after).toMatchObject({ window: 16_384, source: 'learned' })
    expect(after.tokens).toBeLessThanOrEqual(16_384 - 512)
    // A window that somebody set holds over what was learned.
    expect(await limitAt('c', 200_000)).toMatchObject({ window: 200_000, source: 'config' })
    // The others did not learn from it.
    expect(await limitAt('a', 8_000)).toMatchObject({ window: 8_000, source: 'config' })
  })
})

import { describe, expect, it } from 'vitest'
import { costOfUsage } from '../../src/core/price.ts'
import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import { usageIn, usageInStream } from '../support/reported-usage.ts'

/** One call as each vendor reports it, whole and in a stream: 10,000 prompt tokens of which 8,000 came from the cache. */
const GOLDEN = {
  anthropic: {
    wire: 'anthropic-messages',
    whole: {
      input_tokens: 1_500,
      cache_read_input_tokens: 8_000,
      cache_creation_input_tokens: 500,
      output_tokens: 200,
    },
    stream: [
      { input_tokens: 1_500, cache_read_input_tokens: 8_000, cache_creation_input_tokens: 500, output_tokens: 1 },
      { output_tokens: 200 },
    ],
    usage: { input: 10_000, cacheRead: 8_000, cacheWrite: 500, output: 200, reasoning: 0 },
    rates: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
    usd: (1_500 * 3 + 8_000 * 0.3 + 500 * 3.75 + 200 * 15) / 1e6,
  },
  openai: {
    wire: 'openai-chat',
    whole: {
      prompt_tokens: 10_000,
      completion_tokens: 200,
      prompt_tokens_details: { cached_tokens: 8_000 },
      completion_tokens_details: { reasoning_tokens: 64 },
    },
    stream: [
      {},
      {
        prompt_tokens: 10_000,
        completion_tokens: 200,
        prompt_tokens_details: { cached_tokens: 8_000 },
        completion_tokens_details: { reasoning_tokens: 64 },
      },
    ],
    usage: { input: 10_000, cacheRead: 8_000, cacheWrite: 0, output: 200, reasoning: 64 },
    rates: { input: 2.5, output: 10, cacheRead: 1.25 },
    usd: (2_000 * 2.5 + 8_000 * 1.25 + 200 * 10) / 1e6,
  },
  gemini: {
    wire: 'gemini',
    whole: {
      promptTokenCount: 10_000,
      candidatesTokenCount: 150,
      thoughtsTokenCount: 50,
      cachedContentTokenCount: 8_000,
    },
    stream: [
      { promptTokenCount: 10_000, candidatesTokenCount: 10, cachedContentTokenCount: 8_000 },
      { promptTokenCount: 10_000, candidatesTokenCount: 150, thoughtsTokenCount: 50, cachedContentTokenCount: 8_000 },
    ],
    usage: { input: 10_000, cacheRead: 8_000, cacheWrite: 0, output: 200, reasoning: 50 },
    rates: { input: 1.25, output: 10, cacheRead: 0.31 },
    usd: (2_000 * 1.25 + 8_000 * 0.31 + 200 * 10) / 1e6,
  },
} as const

describe('E8: cached tokens', () => {
  it.each(Object.entries(GOLDEN))('of %s are the same numbers and the same price, whole and streamed', (_, golden) => {
    for (const usage of [usageIn(golden.wire, golden.whole)!, usageInStream(golden.wire, golden.stream)!]) {
      expect(usage).toEqual(golden.usage)
      expect(Math.abs(costOfUsage(usage, golden.rates) - golden.usd)).toBeLessThan(1e-9)
    }
  })

  it('are priced by what the catalogue knows about a model', () => {
    const price = bundledCatalogue().resolve('claude-sonnet-4-5').info.price!
    expect(price).toMatchObject({ input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 })
  })
})

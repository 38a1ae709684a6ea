import { describe, expect, it } from 'vitest'
import { type WireFormat, wires } from '../../src/formats/registry.ts'
import { usageIn, usageInStream } from '../support/reported-usage.ts'

describe('usage', () => {
  it("adds Anthropic's cached tokens to the prompt", () => {
    const reported = {
      input_tokens: 12,
      cache_creation_input_tokens: 300,
      cache_read_input_tokens: 5000,
      cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 },
      output_tokens: 40,
    }
    expect(usageIn('anthropic-messages', reported)).toEqual({
      input: 5312,
      cacheRead: 5000,
      cacheWrite: 300,
      cacheWriteLong: 200,
      output: 40,
      reasoning: 0,
    })
  })

  it("keeps OpenAI's cached tokens inside the prompt, on both of its wires", () => {
    expect(
      usageIn('openai-chat', {
        prompt_tokens: 1000,
        completion_tokens: 50,
        prompt_tokens_details: { cached_tokens: 768 },
        completion_tokens_details: { reasoning_tokens: 20 },
      }),
    ).toEqual({ input: 1000, cacheRead: 768, cacheWrite: 0, output: 50, reasoning: 20 })
    expect(
      usageIn('openai-responses', {
        input_tokens: 4020,
        input_tokens_details: { cached_tokens: 0, cache_write_tokens: 4012 },
        output_tokens: 5,
        output_tokens_details: { reasoning_tokens: 0 },
      }),
    ).toEqual({ input: 4020, cacheRead: 0, cacheWrite: 4012, output: 5, reasoning: 0 })
  })

  it("counts Gemini's thoughts as output and its tools as prompt", () => {
    expect(
      usageIn('gemini', {
        promptTokenCount: 1180,
        candidatesTokenCount: 15,
        thoughtsTokenCount: 58,
        cachedContentTokenCount: 900,
        toolUsePromptTokenCount: 20,
      }),
    ).toEqual({ input: 1200, cacheRead: 900, cacheWrite: 0, output: 73, reasoning: 58 })
  })

  it("reads Ollama's, which stands beside the message", () => {
    expect(usageIn('ollama-chat', { prompt_eval_count: 4096, eval_count: 12 })).toMatchObject({
      input: 4096,
      output: 12,
    })
  })

  it.each([
    undefined,
    null,
    'none',
    {},
    { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
    { input_tokens: 0, output_tokens: 0 },
  ])('takes %j for unknown, not for zero', (reported) => {
    for (const { id } of wires) expect(usageIn(id as WireFormat, reported), id).toBeUndefined()
  })

  it('never gives negative numbers', () => {
    expect(
      usageIn('openai-chat', { prompt_tokens: 5, completion_tokens: 10, prompt_tokens_details: { cached_tokens: -3 } }),
    ).toEqual({
      input: 5,
      cacheRead: 0,
      cacheWrite: 0,
      output: 10,
      reasoning: 0,
    })
  })

  it('merges what a stream reports piece by piece', () => {
    const start = {
      input_tokens: 12,
      cache_read_input_tokens: 5000,
      cache_creation: { ephemeral_1h_input_tokens: 7 },
      output_tokens: 1,
    }
    const usage = usageInStream('anthropic-messages', [start, { output_tokens: 20 }, { output_tokens: 44 }])
    expect(usage).toMatchObject({ input: 5019, cacheRead: 5000, cacheWriteLong: 7, output: 44 })
  })
})

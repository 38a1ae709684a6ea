import { describe, expect, it } from 'vitest'
import { bundledCatalogue, CATALOGUE_LINES, supplemented } from '../../src/drivers/catalogue/bundled.ts'
import { readEntry, writeEntry } from '../../src/drivers/catalogue/entry.ts'
import { readLiteLlm } from '../../src/drivers/catalogue/update.ts'

describe('catalogue', () => {
  const catalogue = bundledCatalogue()

  it.each([
    ['claude-sonnet-4-5', 'claude-sonnet-4-5'],
    ['claude-sonnet-4-5-20250929', 'claude-sonnet-4-5'],
    ['claude-4.5-sonnet', 'claude-sonnet-4-5'],
    ['anthropic/claude-sonnet-4.5:thinking', 'claude-sonnet-4-5'],
    ['vertex_ai/claude-opus-4-7@default', 'claude-opus-4-7'],
    ['publishers/anthropic/models/claude-opus-4-1@20250805', 'claude-opus-4-1'],
    ['apac.anthropic.claude-opus-4-1-20250805-v1:0', 'claude-opus-4-1'],
    ['azure/gpt-4o-2024-08-06', 'gpt-4o'],
    ['ft:gpt-4o-2024-08-06:org::x', 'gpt-4o'],
    ['gpt-4o-mini-prod', 'gpt-4o-mini'],
    ['models/gemini-2.5-pro', 'gemini-2.5-pro'],
    ['gemini-2.5-pro-preview-05-06', 'gemini-2.5-pro'],
    ['GPT-5', 'gpt-5'],
  ])('resolves %s', (id, canonical) => {
    const { info, match } = catalogue.resolve(id)
    expect(info.id).toBe(canonical)
    expect(match).not.toBe('default')
  })

  it.each([
    ['claude-opus-4-9', /^claude-opus-4-8$/],
    ['anthropic/claude-sonnet-4.9-20270101', /^claude-sonnet-4-6$/],
    ['gpt-5.9-mini', /^gpt-5\.\d-mini$/],
    ['gemini-3.9-pro', /^gemini-3[.-]1-pro/],
  ])('takes %s for the newest sibling of its generation', (id, sibling) => {
    const { info, match } = catalogue.resolve(id)
    expect(match).toBe('sibling')
    expect(info.id).toMatch(sibling)
  })

  it.each(['claude-haiku-5-5', 'kimi-k9', 'gpt-6-astra', 'claude-opus-9', 'deepseek-v9', 'o9-mini', 'gemini-9-pro'])(
    'knows no price and no window of %s, whose generation is new',
    (id) => {
      const { info, match } = catalogue.resolve(id)
      expect(match).toBe('default')
      expect(info.price).toBeUndefined()
      expect(info.window).toBe(128_000)
    },
  )

  it('keeps a cloud whose price differs apart from the maker', () => {
    const us = catalogue.resolve('us.anthropic.claude-sonnet-4-5-20250929-v1:0')
    expect(us.match).toBe('exact')
    expect(us.info.price?.input).toBeCloseTo(3.3, 9)
    expect(catalogue.resolve('claude-sonnet-4-5').info.price?.input).toBe(3)
  })

  it('knows windows, output limits, prices by kind and tier, cache minimum and reasoning', () => {
    const { info } = catalogue.resolve('claude-sonnet-4-5')
    expect(info).toMatchObject({
      window: 200_000,
      maxOutputTokens: 64_000,
      tokenizer: 'claude',
      reasoning: true,
      bindsThinking: false,
    })
    expect(info.price).toMatchObject({
      input: 3,
      output: 15,
      cacheRead: 0.3,
      cacheWrite: 3.75,
      cacheWriteLong: 6,
      cacheMinimum: 1024,
      caching: 'marks',
      tiers: [{ above: 200_000, input: 6, output: 22.5, cacheRead: 0.6, cacheWrite: 7.5, cacheWriteLong: 12 }],
    })
  })

  it.each([
    ['gpt-4o', 'o200k'],
    ['o3-mini', 'o200k'],
    ['gpt-5.3-codex', 'o200k'],
    ['gpt-4.1-mini', 'o200k'],
    ['gpt-4', 'cl100k'],
    ['gpt-4-0613', 'cl100k'],
    ['gpt-4-1106-preview', 'cl100k'],
    ['gpt-3.5-turbo-0125', 'cl100k'],
    ['claude-opus-4-6', 'claude'],
    ['claude-opus-4-7', 'claude-2026'],
    ['claude-sonnet-5', 'claude-2026'],
    ['claude-fable-5', 'claude-2026'],
    ['gemini-3-pro-preview', 'gemini'],
    ['qwen2.5:7b', 'qwen'],
    ['deepseek-chat', 'deepseek'],
    ['llama-3.3-70b-versatile', 'llama3'],
    ['mistral-large-latest', 'mistral'],
  ])('knows the tokenizer family of %s', (id, family) => {
    expect(catalogue.resolve(id).info.tokenizer).toBe(family)
  })

  it('marks bound thinking from Fable 5.1 on, and its cheaper cache reads', () => {
    expect(catalogue.resolve('claude-fable-5-1').info.bindsThinking).toBe(true)
    expect(catalogue.resolve('claude-fable-5.1-20261001').info.price?.cacheRead).toBe(0.25)
    expect(catalogue.resolve('claude-fable-5').info.bindsThinking).toBe(false)
  })

  it('gives a stated default for an unknown model', () => {
    const { info, match } = catalogue.resolve('nobody/knows-this')
    expect(match).toBe('default')
    expect(info).toMatchObject({ window: 128_000, maxOutputTokens: 4096 })
  })

  it('reads the long window that a client asks for in the name', () => {
    expect(catalogue.resolve('claude-sonnet-4-5[1m]').info.window).toBe(1_000_000)
  })

  it('lets a user overrule single fields', () => {
    const mine = bundledCatalogue({
      overrides: { 'gpt-4o': { window: 64_000 }, 'local-model': { window: 8192, tokenizer: 'qwen' } },
    })
    expect(mine.resolve('gpt-4o').info).toMatchObject({ window: 64_000, maxOutputTokens: 16_384 })
    expect(mine.resolve('openai/gpt-4o-2024-08-06').info.window).toBe(64_000)
    expect(mine.resolve('local-model')).toMatchObject({ match: 'exact', info: { window: 8192, tokenizer: 'qwen' } })
  })

  it('takes a price table of a policy over its own, by the longest head, with a default', () => {
    const prices = { 'gemini-2.5-flash': { input: 0.15, output: 0.6 }, default: { input: 0.5, output: 2 } }
    const priced = bundledCatalogue({ prices })
    expect(priced.resolve('gemini-2.5-flash-lite').info.price).toEqual({ input: 0.15, output: 0.6 })
    expect(priced.resolve('something-else').info.price).toEqual({ input: 0.5, output: 2 })
  })

  it('finds models by words', () => {
    expect(catalogue.search('claude opus 4-7').map(({ id }) => id)).toContain('claude-opus-4-7')
    expect(catalogue.search('no such model at all')).toEqual([])
  })
})

describe('catalogue lines', () => {
  it('give an entry back as it was written', () => {
    const entry = {
      id: 'a-model',
      window: 1000,
      inputLimit: 900,
      maxOutputTokens: 100,
      rates: { input: 1.25, output: 10, cacheRead: 0.125, cacheWrite: 2 },
      tiers: [{ above: 500, input: 2.5, output: 20 }],
      cacheMinimum: 64,
      canonical: true as const,
      reasoning: true,
    }
    expect(readEntry(writeEntry(entry))).toEqual(entry)
  })

  it('skip what is no entry', () => {
    expect(readEntry('')).toBeUndefined()
    expect(readEntry('no-window|')).toBeUndefined()
  })

  it('read public price data and leave out what does not chat', () => {
    const entries = readLiteLlm({
      sample_spec: { mode: 'chat', max_input_tokens: 1 },
      'text-embedding-3': { mode: 'embedding', max_input_tokens: 8191 },
      'vendor/m': {
        mode: 'chat',
        litellm_provider: 'vendor',
        max_input_tokens: 1000,
        input_cost_per_token: 2e-6,
        output_cost_per_token: 8e-6,
      },
    })
    expect(entries).toEqual([
      {
        id: 'vendor/m',
        provider: 'vendor',
        window: 1000,
        rates: { input: 2, output: 8 },
        reasoning: false,
      },
    ])
  })

  it('takes a price that the supplement corrects, in every spelling of the model', () => {
    const corrected = {
      id: 'gpt-4o',
      window: 128_000,
      rates: { input: 77, output: 99 },
      reasoning: false,
    }
    const lines = supplemented(CATALOGUE_LINES, [corrected])
    for (const model of ['gpt-4o', 'ft:gpt-4o:org::x', 'openai/gpt-4o']) {
      expect(bundledCatalogue({ lines }).resolve(model).info.price, model).toMatchObject({ input: 77, output: 99 })
    }
  })
})

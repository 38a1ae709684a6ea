import { describe, expect, it } from 'vitest'
import { fetchCatalogue } from '../../src/drivers/catalogue/update.ts'
import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import { countText } from '../../src/drivers/tokenizers/tokenizers.ts'

const answer =
  (body: unknown, status = 200) =>
  async (): Promise<Response> =>
    new Response(JSON.stringify(body), { status })

const litellm = Object.fromEntries(
  Array.from({ length: 120 }, (_, index) => [
    `model-${index}`,
    {
      mode: 'chat',
      litellm_provider: 'openai',
      max_input_tokens: 1000 + index,
      input_cost_per_token: 1e-6,
      output_cost_per_token: 2e-6,
    },
  ]),
)

describe('catalogue update', () => {
  it('builds lines that a catalogue reads, with what is known beside the public data', async () => {
    const { lines, models } = await fetchCatalogue({ fetch: answer(litellm) })
    expect(models).toBeGreaterThan(100)
    const catalogue = bundledCatalogue({ lines })
    expect(catalogue.resolve('model-7').info).toMatchObject({ window: 1007, price: { input: 1, output: 2 } })
    expect(catalogue.resolve('claude-fable-5-1').info.bindsThinking).toBe(true)
  })

  it('keeps a correction of ours over what was fetched', async () => {
    const wrong = { mode: 'chat', litellm_provider: 'anthropic', max_input_tokens: 5000, input_cost_per_token: 9e-3 }
    const { lines } = await fetchCatalogue({ fetch: answer({ ...litellm, 'claude-fable-5-1': wrong }) })
    expect(bundledCatalogue({ lines }).resolve('claude-fable-5-1').info).toMatchObject({
      window: 1_000_000,
      price: { input: 10, output: 50 },
    })
  })

  it.each([
    ['an error status', answer({}, 503)],
    ['an answer that is no catalogue', answer({ hello: 'world' })],
    ['no network', () => Promise.reject(new Error('offline'))],
  ])('rejects with a typed error on %s', async (_, fetch) => {
    await expect(fetchCatalogue({ fetch })).rejects.toMatchObject({ code: 'upstream' })
  })
})

describe('counting one text for the command line', () => {
  it('says how many tokens, in which interval and from which source', async () => {
    const catalogue = bundledCatalogue()
    expect(await countText(catalogue, 'gpt-4o', 'Hello, world!')).toEqual({
      model: 'gpt-4o',
      family: 'o200k',
      bytes: 13,
      tokens: 4,
      low: 4,
      high: 4,
      source: 'exact',
    })
    expect(await countText(catalogue, 'claude-sonnet-4-5', 'Hello, world!')).toMatchObject({
      family: 'claude',
      source: 'estimate',
    })
  })
})

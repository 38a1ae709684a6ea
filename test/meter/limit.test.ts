import { describe, expect, it } from 'vitest'
import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import { amendedCatalogue } from '../../src/drivers/catalogue/catalogue.ts'
import { policyNamed } from '../../src/engine/presets/index.ts'
import { limitOf } from '../../src/meter/index.ts'

const catalogue = bundledCatalogue()
const buffered = (tokens: number) => ({ fraction: 0, min: tokens, max: tokens })
const none = buffered(0)

describe('limitOf', () => {
  it('is window - buffer - output reserve', () => {
    const limit = limitOf({ model: 'any', window: 128_000 }, { maxOutputTokens: 16_384 }, buffered(8192), catalogue)
    expect(limit).toMatchObject({
      window: 128_000,
      buffer: 8192,
      outputReserve: 16_384,
      tokens: 103_424,
      source: 'config',
    })
  })

  it("reserves the request's own cap, then the target's, then what an answer needs", () => {
    const target = { model: 'claude-sonnet-4-5' }
    expect(limitOf(target, { maxOutputTokens: 1000 }, none, catalogue).outputReserve).toBe(1000)
    expect(limitOf({ ...target, maxOutputTokens: 2000 }, {}, none, catalogue).outputReserve).toBe(2000)
    expect(limitOf(target, {}, none, catalogue).outputReserve).toBe(25_000)
    expect(limitOf({ model: 'gpt-4o' }, {}, none, catalogue).outputReserve).toBe(8_192)
    const without = bundledCatalogue({ overrides: { mine: { window: 40_001 } }, lines: 'mine|40001|||||| ' })
    expect(limitOf({ model: 'mine' }, {}, none, without).outputReserve).toBe(6_000)
  })

  it('leaves at least four fifths of every catalogued window from 16k on to the prompt, where the client names no cap', () => {
    const { buffer } = policyNamed('plimsoll')
    const models = catalogue.search('').filter(({ window }) => window >= 16_000)
    expect(models.length).toBeGreaterThan(500)
    const short = models.filter(({ id, window, inputLimit = Infinity }) => {
      const { tokens } = limitOf({ model: id }, {}, buffer, catalogue)
      return tokens < 0.8 * Math.min(window, inputLimit)
    })
    expect(short.map(({ id }) => id)).toEqual([])
  })

  it.each([2_048, 4_096, 8_192, 16_000, 16_384, 16_500, 17_000, 20_000])('can use a window of %i', (window) => {
    const { buffer } = policyNamed('plimsoll')
    for (const model of ['gpt-4o', 'my-local-model', 'claude-3-5-sonnet-20241022', 'o3'])
      expect(limitOf({ model, window }, {}, buffer, catalogue).tokens).toBeGreaterThan(0.7 * window)
  })

  it('takes the configured window over the learned one, and that over the catalogue', () => {
    const target = { model: 'gpt-4o', window: 64_000 }
    const settings = { maxOutputTokens: 1000 }
    const learned = { window: 16_000 }
    expect(limitOf({ ...target, learned }, settings, none, catalogue)).toMatchObject({
      window: 64_000,
      source: 'config',
    })
    expect(limitOf({ model: 'gpt-4o', learned }, settings, none, catalogue)).toMatchObject({
      window: 16_000,
      source: 'learned',
    })
    expect(limitOf({ model: 'gpt-4o' }, settings, none, catalogue)).toMatchObject({
      window: 128_000,
      source: 'catalogue',
    })
    expect(limitOf({ model: 'nobody-knows' }, settings, none, catalogue)).toMatchObject({
      window: 128_000,
      source: 'default',
    })
  })

  it.each(['gpt-5', 'gpt-5.1', 'gpt-4o', 'gemini-2.5-pro'])(
    'holds a window that was set for %s over its prompt limit',
    (model) => {
      const own = amendedCatalogue(catalogue, { overrides: { [model]: { window: 32_000 } } })
      for (const learned of [{}, { window: 16_000 }])
        expect(limitOf({ model, learned }, {}, none, own)).toMatchObject({ window: 32_000, source: 'config' })
      expect(limitOf({ model }, {}, none, own).tokens).toBeLessThan(32_000)
      expect(limitOf({ model, window: 32_000 }, {}, none, catalogue).tokens).toBeLessThan(32_000)
    },
  )

  it('keeps the prompt limit of vendors that limit it apart from the output', () => {
    expect(limitOf({ model: 'gpt-5' }, { maxOutputTokens: 1000 }, none, catalogue).tokens).toBe(272_000)
    expect(limitOf({ model: 'gpt-5' }, { maxOutputTokens: 200_000 }, none, catalogue).tokens).toBe(200_000)
    expect(limitOf({ model: 'gemini-2.5-pro' }, {}, none, catalogue).tokens).toBe(1_048_576)
  })

  it('refuses a limit that is not positive, with the numbers', () => {
    expect(() => limitOf({ model: 'gpt-4o', window: 8000 }, { maxOutputTokens: 8000 }, none, catalogue)).toThrow(
      expect.objectContaining({
        code: 'limit-not-positive',
        fields: expect.objectContaining({ window: 8000, tokens: 0 }),
      }),
    )
  })

  it.each([
    [250_000, 20_000],
    [200_000, 20_000],
    [50_000, 10_000],
    [10_000, 2000],
  ])('buffers a window of %i by a rule with a ceiling: %i', (window, buffer) => {
    const rule = { fraction: 0.2, min: 0, max: 20_000 }
    expect(limitOf({ model: 'any', window }, {}, rule, catalogue).buffer).toBe(buffer)
  })

  it('holds input + output within the window for windows from 4k to 1M', () => {
    for (const window of [4000, 8000, 32_000, 128_000, 200_000, 1_000_000]) {
      for (const maxOutputTokens of [1000, 3000, 16_000, 64_000]) {
        if (maxOutputTokens + 500 >= window) continue
        const { tokens } = limitOf({ model: 'any', window }, { maxOutputTokens }, buffered(500), catalogue)
        expect(tokens + maxOutputTokens).toBeLessThanOrEqual(window)
      }
    }
  })
})

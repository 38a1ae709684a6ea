import { describe, expect, it } from 'vitest'

import type { PriceModel } from '../../src/core/price.ts'
import { commonPrefix, SessionPricer } from '../../src/lab/replay/price.ts'

const PRICE: PriceModel = {
  input: 3,
  output: 15,
  cacheRead: 0.3,
  cacheWrite: 3.75,
  cacheTtlSeconds: 300,
  cacheMinimum: 1024,
}
const piece = (text: string, tokens: number) => ({ text, tokens })

describe('commonPrefix', () => {
  it('ends at the first piece that differs', () => {
    const before = [piece('a', 10), piece('b', 20), piece('c', 30)]
    expect(commonPrefix(before, [piece('a', 10), piece('b', 20), piece('x', 5), piece('c', 30)])).toBe(30)
    expect(commonPrefix(before, [piece('x', 10), piece('b', 20)])).toBe(0)
    expect(commonPrefix([], before)).toBe(0)
  })
})

describe('SessionPricer', () => {
  it('reads what the request before it sent and writes the rest', () => {
    const pricer = new SessionPricer(PRICE)
    pricer.add({ pieces: [piece('a', 10_000)], outputTokens: 100 })
    const usage = pricer.add({ pieces: [piece('a', 10_000), piece('b', 500)], outputTokens: 0 })
    expect(usage).toMatchObject({ input: 10_500, cacheRead: 10_000, cacheWrite: 500 })
    const { costUsd, inputCostUsd, cacheHitRate } = pricer.total()
    expect(inputCostUsd).toBeCloseTo((10_500 * 3.75 + 10_000 * 0.3) / 1e6, 10)
    expect(costUsd - inputCostUsd).toBeCloseTo((100 * 15) / 1e6, 10)
    expect(cacheHitRate).toBeCloseTo(10_000 / 20_500)
  })

  it('pays for the whole prompt again when the cache went cold', () => {
    const pricer = new SessionPricer(PRICE)
    pricer.add({ pieces: [piece('a', 10_000)], outputTokens: 0, at: 0 })
    expect(pricer.add({ pieces: [piece('a', 10_000)], outputTokens: 0, at: 299_000 }).cacheRead).toBe(10_000)
    expect(pricer.add({ pieces: [piece('a', 10_000)], outputTokens: 0, at: 600_000 }).cacheRead).toBe(0)
  })
})

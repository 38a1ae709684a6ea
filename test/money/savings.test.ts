import { describe, expect, it } from 'vitest'
import type { CacheSeen } from '../../src/core/cache.ts'
import { costOfUsage } from '../../src/core/price.ts'
import type { Usage } from '../../src/core/usage.ts'
import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import { savedBy, type SavingCall } from '../../src/meter/ledger/ledger.ts'

const price = bundledCatalogue().resolve('claude-opus-4-5').info.price!
const usage = (input: number, cacheRead: number): Usage => ({
  input,
  cacheRead,
  cacheWrite: input - cacheRead,
  output: 500,
  reasoning: 0,
})
const cache = (miss?: CacheSeen['miss']): CacheSeen => ({
  predicted: 'warm',
  ageSeconds: 5,
  life: { least: 300, most: 300 },
  expected: 20_000,
  miss,
})
const call = (given: Partial<SavingCall>): SavingCall => ({
  usage: usage(20_000, 19_000),
  removed: 0,
  removedBefore: 0,
  cache: cache(),
  isCompacted: false,
  ...given,
})
const perToken = (rate: number): number => rate / 1_000_000

describe('what a call cost less for us', () => {
  it('is nothing where nothing was taken out', () => {
    expect(savedBy(call({}), price)).toBe(0)
  })

  it('is the price of reading what is gone, not of sending it anew', () => {
    const saved = savedBy(call({ removed: 80_000, removedBefore: 80_000 }), price)
    expect(saved).toBeCloseTo(80_000 * perToken(price.cacheRead!), 10)
    expect(saved).toBeLessThan(80_000 * perToken(price.input) * 0.11)
  })

  it('is the price of writing it where the cache was gone whatever we did', () => {
    const cold = { usage: usage(20_000, 0), removed: 80_000, removedBefore: 80_000 }
    const saved = savedBy(call({ ...cold, cache: cache({ cause: 'expiry', tokens: 20_000 }) }), price)
    expect(saved).toBeCloseTo(80_000 * perToken(price.cacheWrite!), 10)
  })

  it('is less than nothing with the call of a compaction: what it wrote would have been read', () => {
    const made = { usage: usage(40_000, 5_000), removed: 60_000, removedBefore: 0, isCompacted: true }
    const saved = savedBy(call({ ...made, cache: cache({ cause: 'ours', tokens: 35_000 }) }), price)
    const without = costOfUsage(usage(100_000, 100_000), price)
    expect(saved).toBeCloseTo(without - costOfUsage(made.usage, price), 10)
    expect(saved).toBeLessThan(0)
  })

  it('is the price of one writing for a result that was shown shorter from the start', () => {
    const saved = savedBy(call({ removed: 10_000, removedBefore: 0 }), price)
    expect(saved).toBeCloseTo(10_000 * perToken(price.cacheWrite!), 10)
  })

  it('is less than nothing for tools that we added', () => {
    expect(savedBy(call({ removed: -200, removedBefore: -200 }), price)).toBeCloseTo(
      -200 * perToken(price.cacheRead!),
      10,
    )
  })

  it('is the plain price where nothing is cached', () => {
    const plain = { ...usage(20_000, 0), cacheWrite: 0 }
    const saved = savedBy(call({ usage: plain, removed: 30_000, cache: undefined }), price)
    expect(saved).toBeCloseTo(30_000 * perToken(price.input), 10)
  })
})

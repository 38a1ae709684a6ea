import { describe, expect, it } from 'vitest'
import type { Limit } from '../../src/core/target.ts'
import { policyNamed } from '../../src/engine/presets/index.ts'
import { highWater, lowWater } from '../../src/engine/epoch/thresholds.ts'

const limit = (window: number): Limit => ({
  window,
  buffer: 0,
  outputReserve: 0,
  tokens: window,
  bytes: 32_000_000,
  source: 'config',
})
const base = policyNamed('plimsoll')
const capped = { ...base, water: { ...base.water, high: 0.9, low: 0.5, highTokens: 150_000, lowTokens: 80_000 } }
/** Reduces so many tokens below the window. */
const margin = policyNamed('contextguard')

describe('D12: trigger points', () => {
  it.each([
    // window, high and low with shares and a cap, high as a distance below the window
    [8_000, 7_200, 4_000, 6_400],
    [65_000, 58_500, 32_500, 52_000],
    [200_000, 150_000, 80_000, 180_000],
    [1_000_000, 150_000, 80_000, 980_000],
  ])('follow the table for a window of %i', (window, high, low, distant) => {
    expect(highWater(capped, limit(window))).toBe(high)
    expect(lowWater(capped, limit(window))).toBe(low)
    expect(highWater(margin, limit(window))).toBe(distant)
  })
})

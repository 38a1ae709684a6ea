import { describe, expect, it } from 'vitest'
import { loadTiktoken } from '../../src/drivers/tokenizers/tokenizers.ts'
import { estimateTokens } from '../../src/meter/index.ts'

const base64 = Buffer.from(Array.from({ length: 60_000 }, (_, n) => (n * 7_919 + (n >> 5)) % 256)).toString('base64')
const RUNS: Record<string, (scale: number) => string> = {
  'one letter': (scale) => 'a'.repeat(1_000_000 * scale),
  'one Han character': (scale) => '的'.repeat(200_000 * scale),
  base64: (scale) => base64.repeat(Math.round(60 * scale)),
}

describe('D10: text without a boundary', async () => {
  const exact = (await loadTiktoken('o200k'))!

  it.each(Object.entries(RUNS))('is counted in linear time by both counters, within 25 %%: %s', (_, make) => {
    const small = make(0.25)
    const large = make(1)
    const real = exact(large)
    expect(Math.abs(estimateTokens(large, 'o200k').tokens / real - 1)).toBeLessThan(0.25)
    // Work, not wall time: four times the text may not take sixteen times as long. Processor time, best of three.
    for (const count of [exact, (text: string) => estimateTokens(text, 'o200k').tokens]) {
      expect(cpu(() => count(large))).toBeLessThan(
        Math.max(
          40_000,
          cpu(() => count(small)),
        ) * 12,
      )
    }
  })
})

/** Microseconds of this process. */
function cpu(work: () => void): number {
  let best = Infinity
  for (let i = 0; i < 3; i++) {
    const before = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(before)
    best = Math.min(best, user + system)
  }
  return best
}

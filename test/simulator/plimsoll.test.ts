import { describe, expect, it } from 'vitest'
import { scenarios, simulate } from '../../src/lab/simulator/simulate.ts'

/** Instructions and tools alone are above the line: these end in a typed error that names them. */
const OVERHEAD = new Set(['CompactionNoInfiniteLoop', '8k_SystemPromptLargerThanWindow'])

/** A session of ten megabytes and hundreds of calls; `PLIMSOLL_LONG=1` runs these too. */
const isLong = (name: string): boolean => /^1M_|200k_200Turns|DeepRefactor/.test(name)
const rows = scenarios.filter(({ name }) => process.env['PLIMSOLL_LONG'] === '1' || !isLong(name))

describe('the default policy', () => {
  it.each(rows)('$name', async (scenario) => {
    const result = await simulate(scenario)
    expect(result).toMatchObject({ overflows: 0, invalid: 0, lost: 0 })
    expect(result.maxConsecutiveCompactions).toBeLessThan(3)
    expect(result.peakReal).toBeLessThanOrEqual(scenario.window)
    if (OVERHEAD.has(scenario.name)) expect(result.typedErrors).toBeGreaterThan(0)
    else expect(result.typedErrors).toBe(0)
  })
})

import { describe, expect, it } from 'vitest'
import { policies } from '../../src/engine/presets/index.ts'
import { scenarios, simulate } from '../../src/lab/simulator/simulate.ts'

/** Every scenario with `PLIMSOLL_LONG=1`; else the small windows and a few of the larger ones. */
const isSample = (name: string): boolean =>
  /^4k_|^8k_(Large|Normal|Every|Alternating|Sequential|Heavy|Inline|Coding|NoUsage)/.test(name) ||
  ['200k_ToolHeavy', '200k_MassiveToolBurst', '200k_InlineImages'].includes(name)
const rows = scenarios.filter(({ name }) => process.env['PLIMSOLL_LONG'] === '1' || isSample(name))

/** The default policy and contextguard have tests of their own, with more to hold. */
const presets = [...policies.keys()].filter((name) => name !== 'plimsoll' && name !== 'contextguard')

describe.each(presets)('%s', (policy) => {
  it.each(rows)('$name: nothing invalid, nothing lost, no loop, no overflow', async (scenario) => {
    const result = await simulate(scenario, { policy })
    expect(result).toMatchObject({ invalid: 0, lost: 0 })
    // Behind two compactions in a row contextguard's presets make one more, by code, where the request would be refused;
    // where instructions alone are above the line they do so each time, and ask no model.
    const isContextguard = policy.startsWith('contextguard')
    if (result.summarizerCalls > 0 || !isContextguard)
      expect(result.maxConsecutiveCompactions).toBeLessThan(isContextguard ? 4 : 3)
    expect(result.overflows).toBe(0)
  })
})

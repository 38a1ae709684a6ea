import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { policies } from '../../src/engine/presets/index.ts'
import type { SimulationResult } from '../../src/lab/simulator/simulate.ts'
import { plimsoll, temporaryHome } from './support/binary.ts'

let home: Awaited<ReturnType<typeof temporaryHome>>
beforeAll(async () => {
  home = await temporaryHome()
})
afterAll(() => home.remove())

/** Every scenario with `PLIMSOLL_LONG=1`; else those of the smallest window. */
const words = process.env['PLIMSOLL_LONG'] === '1' ? [] : ['4k_']
const expected = process.env['PLIMSOLL_LONG'] === '1' ? 92 : 9

describe('plimsoll simulate --json', () => {
  it.each([...policies.keys()])(
    '--policy %s: every scenario on a line of its own, nothing invalid, nothing lost',
    async (policy) => {
      const { code, out } = await plimsoll(home.path, ['simulate', ...words, '--policy', policy, '--json'])
      expect(code).toBe(0)
      const results = out
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as SimulationResult)
      expect(results).toHaveLength(expected)
      for (const result of results) {
        expect(result, result.scenario).toMatchObject({
          policy,
          invalid: 0,
          lost: 0,
          overflows: expect.any(Number),
          typedErrors: expect.any(Number),
        })
        if (policy === 'plimsoll' || policy === 'contextguard') expect(result.overflows, result.scenario).toBe(0)
      }
    },
    3_600_000,
  )
})

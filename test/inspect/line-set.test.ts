import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LineSet } from '../../src/lab/inspect/line-set.ts'
import { SEED } from '../support/property.ts'

describe('lines remembered by their hash', () => {
  it(`are told apart as a set of strings would (seed ${SEED})`, () => {
    const line = fc.oneof(fc.string({ unit: 'binary', maxLength: 12 }), fc.constantFrom('a', 'b', 'ab', '\0', ''))
    fc.assert(
      fc.property(fc.array(line, { maxLength: 400 }), (lines) => {
        const [set, strings] = [new LineSet(), new Set<string>()]
        for (const each of lines) {
          expect(set.add(`<${each}>`, 1, 1 + each.length)).toBe(strings.has(each))
          strings.add(each)
        }
      }),
      { seed: SEED, numRuns: 100 },
    )
  })

  it('stay apart when there are many that differ in a digit', () => {
    const set = new LineSet()
    let taken = 0
    for (let n = 0; n < 200_000; n++) {
      const line = `line ${n} of the log: value ${(n * 7_919) % 10_007}`
      if (set.add(line, 0, line.length)) taken++
    }
    expect(taken).toBe(0)
  })
})

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { createLineMatcher, quotableLines, stringsIn } from '../../src/core/quotes.ts'

const SEED = 20251101

describe('stringsIn', () => {
  it('finds every string in a value, in order, and numbers beside them', () => {
    expect(stringsIn({ path: 'a.ts', edits: [{ old: 'x', at: 12 }, null, true], note: 'end' })).toEqual([
      'a.ts',
      'x',
      '12',
      'end',
    ])
  })

  it('takes nesting of any depth', () => {
    let value: unknown = 'deep'
    for (let i = 0; i < 100_000; i++) value = [value]
    expect(stringsIn(value)).toEqual(['deep'])
  })
})

describe('quotableLines', () => {
  it('takes trimmed lines of at least 20 characters, each once', () => {
    const line = 'const answer = compute()'
    expect(quotableLines([`  ${line}  \n}\n${line}`, `short\n\t${line}`, 'if (ready) return null // now'])).toEqual([
      line,
      'if (ready) return null // now',
    ])
  })
})

describe('createLineMatcher', () => {
  it('finds a line behind the numbers of a file listing', () => {
    const matcher = createLineMatcher(['return fmt.Errorf("no session: %w", err)', 'absent line that is long enough'])
    expect(matcher.scan('  12→\treturn fmt.Errorf("no session: %w", err)\n  13→}')).toEqual([0])
  })

  it('agrees with a plain search', () => {
    console.log(`matcher property: seed ${SEED}`)
    // Few letters make near misses and overlaps common.
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '-', '\n', 'ß', '𝕏'), minLength: 0, maxLength: 200 })
    const inside = fc.tuple(letters, fc.nat(), fc.integer({ min: 20, max: 40 }))
    const property = fc.property(
      fc.array(letters, { maxLength: 4 }),
      fc.array(inside, { maxLength: 8 }),
      (texts, cuts) => {
        const all = texts.join('')
        const lines = cuts.map(([other, from, length]) => {
          const source = from % 2 === 0 ? all : other
          const start = source.length === 0 ? 0 : from % source.length
          return source.slice(start, start + length)
        })
        const matcher = createLineMatcher(lines)
        for (const text of [all, ...texts]) {
          const expected = lines.flatMap((line, index) => (line.length >= 20 && text.includes(line) ? [index] : []))
          expect([...matcher.scan(text)].sort((a, b) => a - b)).toEqual(expected)
        }
      },
    )
    fc.assert(property, { seed: SEED, numRuns: 2000 })
  })

  it('agrees with a plain search on long lines that repeat themselves', () => {
    const line = fc.tuple(fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 6 }), fc.nat(600))
    const property = fc.property(fc.array(line, { minLength: 1, maxLength: 6 }), fc.nat(400), (parts, cut) => {
      const text = parts.map(([unit, times]) => unit.repeat(times)).join('c')
      const start = text.length === 0 ? 0 : (cut * 7) % text.length
      const lines = [text.slice(start, start + 300), `${text.slice(start, start + 300)}b`, `b${text.slice(0, 400)}`]
      const expected = lines.flatMap((one, index) => (one.length >= 20 && text.includes(one) ? [index] : []))
      expect([...createLineMatcher(lines).scan(text)].sort((a, b) => a - b)).toEqual(expected)
    })
    fc.assert(property, { seed: SEED, numRuns: 2000 })
  })

  it('looks at text that repeats itself once for each line, however many places nearly have the line', () => {
    const text = 'word '.repeat(16_000)
    const shortest = (line: string): number => {
      const matcher = createLineMatcher([line])
      const times = Array.from({ length: 3 }, () => {
        const startedAt = performance.now()
        expect(matcher.scan(text)).toEqual([])
        return performance.now() - startedAt
      })
      return Math.min(...times)
    }
    const nowhere = shortest('a line that stands nowhere in it')
    // Another word, but neither at the ends nor in the middle, where lines are told apart.
    const nearlyEverywhere = shortest(`${'word '.repeat(6_000)}end ${'word '.repeat(2_000)}`)
    // Compared anew at each place it is several hundred times as long.
    expect(nearlyEverywhere / nowhere).toBeLessThan(50)
  })

  it('finds a ruler inside a longer one, and not one that ends otherwise', () => {
    const matcher = createLineMatcher([`${'-'.repeat(500)}x`, '-'.repeat(500)])
    expect(matcher.scan('-'.repeat(20_000))).toEqual([1])
  })
})

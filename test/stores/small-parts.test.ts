import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BoundedMap } from '../../src/util/bounded-map.ts'
import { queryWords, wordsOf } from '../../src/util/search/words.ts'
import { excerptOf } from '../../src/drivers/sessions/search-words.ts'

const SEED = 7

describe('a bounded map', () => {
  it('gives up the least used first and stays within its size', () => {
    const cache = new BoundedMap<string, number>(10)
    cache.set('a', 1, 4)
    cache.set('b', 2, 4)
    cache.get('a')
    cache.set('c', 3, 4)
    expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([1, undefined, 3])
    cache.set('a', 9, 5)
    expect([cache.get('a'), cache.size]).toEqual([9, 2])
    cache.set('huge', 4, 11)
    expect([cache.get('huge'), cache.size]).toEqual([undefined, 0])
  })

  it(`keeps the order of use, whatever is asked of it (seed ${SEED})`, () => {
    const step = fc.record({
      does: fc.constantFrom('get', 'set', 'delete'),
      key: fc.nat(9),
      weight: fc.integer({ min: 1, max: 4 }),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const cache = new BoundedMap<number, number>(12)
        let model: { key: number; value: number; weight: number }[] = []
        for (const [value, { does, key, weight }] of steps.entries()) {
          const known = model.find((entry) => entry.key === key)
          model = model.filter((entry) => entry !== known)
          if (does === 'get') expect(cache.get(key)).toBe(known?.value)
          else if (does === 'set') cache.set(key, value, weight)
          else expect(cache.delete(key)).toBe(known !== undefined)
          if (does === 'get' && known !== undefined) model.push(known)
          else if (does === 'set') model.push({ key, value, weight })
          while (model.reduce((sum, entry) => sum + entry.weight, 0) > 12) model.shift()
        }
        expect([...cache]).toEqual(model.map((entry) => [entry.key, entry.value]))
        expect(cache.size).toBe(model.length)
      }),
      { seed: SEED, numRuns: 300 },
    )
  })
})

describe('words', () => {
  it(`finds every word that a text was indexed by (seed ${SEED})`, () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (text) => {
        const indexed = new Set(wordsOf(text))
        expect(queryWords(text).filter((forms) => !forms.some((form) => indexed.has(form)))).toEqual([])
      }),
      { seed: SEED, numRuns: 500 },
    )
  })

  it('keeps words free of everything that an index or a query language could read', () => {
    const hostile = `a'b "c" d* (e) f:g -h ^i {j} AND OR NOT NEAR a+b \\ \0 <-> & | !`
    for (const word of wordsOf(hostile)) expect(word).toMatch(/^[\p{L}\p{N}\p{M}]+$/u)
  })

  it('cuts excerpts at whole characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 600 }), fc.nat(), (text, at) => {
        const excerpt = excerptOf(text, at % (text.length + 1))
        expect(excerpt.length).toBeLessThanOrEqual(242)
        expect(excerpt).not.toMatch(/\p{Surrogate}/u)
      }),
      { seed: SEED, numRuns: 300 },
    )
  })
})

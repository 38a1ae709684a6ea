import { describe, expect, it } from 'vitest'
import { createContentCache } from '../../src/meter/content-cache.ts'

const alike = (n: number): string => `${'a'.repeat(100)}${String(n).padStart(6, '0')}${'b'.repeat(200)}`

describe('a content cache', () => {
  it('finds a text by its content, in its scope', () => {
    const cache = createContentCache<number>()
    cache.set('one', alike(1), 1)
    cache.set('two', alike(1), 2)
    const again = Buffer.from(alike(1)).toString()
    expect([cache.get('one', again), cache.get('two', again), cache.get('three', again)]).toEqual([1, 2, undefined])
  })

  it('tells scopes apart that give a text the same number', () => {
    const cache = createContentCache<number>()
    cache.set('o200k/estimate|t_11unw', 'x', 1)
    expect(cache.get('o200k/estimate|t_1ywba', 'x')).toBeUndefined()
  })

  it('tells texts apart that begin, end and look alike in the middle', () => {
    const cache = createContentCache<number>()
    for (let n = 0; n < 5; n++) cache.set('', alike(n), n)
    expect(Array.from({ length: 6 }, (_, n) => cache.get('', alike(n)))).toEqual([0, 1, 2, 3, 4, undefined])
  })

  it('keeps a few of any number of texts that look alike', () => {
    const cache = createContentCache<number>()
    for (let n = 0; n < 1_000; n++) cache.set('', alike(n), n)
    expect(cache.size).toBeLessThan(10)
    expect([cache.get('', alike(999)), cache.get('', alike(0))]).toEqual([999, undefined])
  })

  it('forgets what was not used for longest, by number and by size', () => {
    const few = createContentCache<number>({ entries: 2 })
    few.set('', 'a', 1)
    few.set('', 'b', 2)
    few.get('', 'a')
    few.set('', 'c', 3)
    expect([few.get('', 'a'), few.get('', 'b'), few.get('', 'c'), few.size]).toEqual([1, undefined, 3, 2])
    const small = createContentCache<number>({ characters: 2_000 })
    small.set('', 'x'.repeat(900), 1)
    small.set('', 'y'.repeat(900), 2)
    expect([small.get('', 'x'.repeat(900)), small.get('', 'y'.repeat(900)), small.size]).toEqual([undefined, 2, 1])
  })

  it('counts what an entry takes beside its text: many short ones are no less than a few long ones', () => {
    const cache = createContentCache<number>({ characters: 100_000 })
    for (let n = 0; n < 10_000; n++) cache.set('', `${n}`, n)
    expect(cache.size).toBeLessThan(500)
    expect(cache.get('', '9999')).toBe(9_999)
  })

  it('takes another value for the same text without growing', () => {
    const cache = createContentCache<number>()
    cache.set('', alike(1), 1)
    cache.set('', alike(1), 2)
    expect([cache.get('', alike(1)), cache.size]).toEqual([2, 1])
  })
})

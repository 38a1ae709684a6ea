import { describe, expect, it } from 'vitest'
import * as fc from 'fast-check'
import { layOut } from '../../src/engine/intake/index.ts'

const longest = (text: string): number => Math.max(...text.split('\n').map((line) => Buffer.byteLength(line)))

describe('text laid out for line tools', () => {
  it.each([
    [
      'minified JSON',
      '{"a":[1,{"b":"x,y"}],"c":{},"d":[]}',
      '{\n  "a": [\n    1,\n    {\n      "b": "x,y"\n    }\n  ],\n  "c": {},\n  "d": []\n}',
    ],
    ['a number that a double would round', '[12345678901234567890]', '[\n  12345678901234567890\n]'],
    ['XML', '<a><b>x</b><c/></a>', '<a>\n<b>x</b>\n<c/>\n</a>'],
    ['escaped newlines', 'first\\nsecond', 'first\nsecond'],
    ['escaped newlines between real ones', 'first\\nsecond\nthird', 'first\\nsecond\nthird'],
    ['invalid JSON', '{"a":1,}', '{"a":1,}'],
    ['nothing', '', ''],
    ['ordinary lines', 'a\nb\n', 'a\nb\n'],
  ])('%s', (_, text, want) => {
    expect(layOut(text)).toBe(want)
  })

  it.each([
    ['3,000 letters', 'a'.repeat(3_000)],
    ['800 letters of three bytes', '中'.repeat(800)],
    ['letters of four bytes', '𠀀'.repeat(2_000)],
  ])('breaks %s into lines of at most 2,000 bytes', (_, text) => {
    const laid = layOut(text)
    expect(longest(laid)).toBeLessThanOrEqual(2_000)
    expect(laid.replaceAll('\n', '')).toBe(text)
    expect(Buffer.from(laid).toString()).toBe(laid)
  })

  it('breaks at a separator near 1,000 characters', () => {
    const laid = layOut('word '.repeat(900))
    const [first] = laid.split('\n')
    expect(first!.length).toBeGreaterThan(800)
    expect(first!.length).toBeLessThanOrEqual(1_200)
    expect(first).toMatch(/ $/)
  })

  it('keeps the value of any JSON (seeded)', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), (json) => {
        expect(JSON.parse(layOut(json, { softChars: 1e9, hardBytes: 1e9 }))).toEqual(JSON.parse(json))
      }),
      { seed: 99, numRuns: 300 },
    )
  })
})

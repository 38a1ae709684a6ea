import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Splice } from '../../src/core/codec.ts'
import { applySplices, spliceBytes } from '../../src/core/splices.ts'
import { property } from '../support/property.ts'

const ascii = fc.string({ unit: fc.integer({ min: 32, max: 126 }).map((code) => String.fromCharCode(code)) })

/** A text and changes of it, in order and apart from each other. */
const changed = fc
  .tuple(ascii, fc.array(fc.tuple(fc.nat(8), fc.nat(8), fc.string({ unit: 'binary' }))))
  .map(([text, steps]) => {
    const splices: Splice[] = []
    let at = 0
    for (const [gap, length, own] of steps) {
      const start = Math.min(text.length, at + gap)
      const end = Math.min(text.length, start + length)
      splices.push({ start, end, text: own })
      at = end
    }
    return { text, splices }
  })

describe('changes of a text', () => {
  it('replace what they name and nothing else', () => {
    expect(applySplices('{"a":1,"b":2}', [{ start: 5, end: 6, text: '10' }])).toBe('{"a":10,"b":2}')
    expect(applySplices('abc', [])).toBe('abc')
    expect(
      applySplices('abc', [
        { start: 0, end: 0, text: '<' },
        { start: 3, end: 3, text: '>' },
      ]),
    ).toBe('<abc>')
  })

  it('give the same bytes on the text and on its bytes', () => {
    property(changed, ({ text, splices }) => {
      expect(spliceBytes(Buffer.from(text), splices)).toEqual(Buffer.from(applySplices(text, splices)))
    })
  })
})

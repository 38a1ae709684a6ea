import { describe, expect, it } from 'vitest'
import { BODY_BOUNDS, BodyCount, type BodyBound } from '../../src/formats/json/bounds.ts'

function passedBy(text: string, piece = Infinity): BodyBound | undefined {
  const count = new BodyCount()
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += piece) count.push(bytes.subarray(at, at + piece))
  return count.passed
}

const times = (n: number, text: string): string => Array.from({ length: n }, () => text).join(',')

/** For each bound a body with so many. */
const BODIES: Readonly<Record<BodyBound, (n: number) => string>> = {
  levels: (n) => '['.repeat(n) + ']'.repeat(n),
  // Rows of a tool's result, deep inside: nothing but the values count there.
  values: (n) => `{"a":[[[[[[${times(n - 6, '1')}]]]]]]}`,
  names: (n) => `{"a":{${times(n, '"k":1')}}}`,
  messages: (n) =>
    `{"model":"m","messages":[${times(n, '{"role":"user","content":"a [long] {text}, with \\"all\\", of it"}')}]}`,
  tools: (n) => `{"model":"m","tools":[{"functionDeclarations":[${times(n, '{"name":"t"}')}]}]}`,
}

describe('what a body may hold', () => {
  it.each(Object.entries(BODIES) as [BodyBound, (n: number) => string][])('is counted: %s', (bound, bodyOf) => {
    const most = BODY_BOUNDS[bound]
    expect(passedBy(bodyOf(most))).toBeUndefined()
    expect(passedBy(bodyOf(most + 1))).toBe(bound)
    expect(passedBy(bodyOf(most + 1), 7)).toBe(bound)
  })

  it('is counted outside of texts alone, wherever they are cut', () => {
    const text = JSON.stringify({
      messages: [
        { role: 'user', content: `${'[{"a":'.repeat(50_000)}\\${'\\"'.repeat(70)}` },
        { content: '\\'.repeat(301) },
      ],
      input: [[1, '"'], {}],
    })
    for (const piece of [Infinity, 1, 3, 64, 65, 1000]) {
      const count = new BodyCount()
      const bytes = Buffer.from(text + '['.repeat(BODY_BOUNDS.levels))
      for (let at = 0; at < bytes.length; at += piece) count.push(bytes.subarray(at, at + piece))
      expect(count.passed, `in pieces of ${piece}`).toBeUndefined()
      count.push(Buffer.from('['))
      expect(count.passed, `in pieces of ${piece}`).toBe('levels')
    }
  })
})

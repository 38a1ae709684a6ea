import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compactJson, indexJson, member } from '../../src/formats/json/json-index.ts'
import { spliceArray, spliceMember, spliceMembers, spliceText } from '../../src/formats/json/splice.ts'
import { property } from '../support/property.ts'

/** Writes JSON with the white space that people and libraries put into it. */
function written(value: unknown, indent: number): string {
  return indent === 0 ? JSON.stringify(value) : JSON.stringify(value, undefined, indent)
}

describe('indexJson', () => {
  it('finds every value where it stands', () => {
    property(fc.tuple(fc.jsonValue(), fc.integer({ min: 0, max: 4 })), ([value, indent]) => {
      const text = ` ${written(value, indent)}\n`
      const walk = (node: ReturnType<typeof indexJson>): void => {
        expect(JSON.parse(node.raw)).toEqual(node.value)
        for (const entry of node.members ?? []) walk(entry.node)
        for (const item of node.items ?? []) walk(item)
      }
      walk(indexJson(text))
    })
  })

  it('compacts white space and nothing else', () => {
    property(fc.tuple(fc.jsonValue(), fc.integer({ min: 0, max: 4 })), ([value, indent]) => {
      expect(compactJson(written(value, indent))).toBe(JSON.stringify(value))
    })
    expect(compactJson(' { "b" : 1.0 ,\n"a" : 12345678901234567890 } ')).toBe('{"b":1.0,"a":12345678901234567890}')
  })

  it('takes the last of two equal keys, as the parser does', () => {
    const text = '{"a":1,"a":{"b":2}}'
    expect(member(indexJson(text), 'a')?.value).toEqual({ b: 2 })
  })

  it('reads keys with escapes', () => {
    expect(member(indexJson('{"\\u0061\\"":7}'), 'a"')?.value).toBe(7)
  })

  it.each([
    ['truncated text', '{"messages":[{"role":"us'],
    ['no JSON at all', 'hello'],
    ['a lone surrogate', '{"a":"\ud800"}'],
    ['nothing', ''],
  ])('refuses %s with a typed error', (_name, text) => {
    expect(() => indexJson(text)).toThrowError(expect.objectContaining({ code: 'bad-input' }))
  })

  it('survives nesting 100,000 levels deep', () => {
    const deep = '['.repeat(100_000) + ']'.repeat(100_000)
    expect(indexJson(`{"a":${deep}}`).end).toBe(deep.length + 6)
  })
})

describe('spliceText', () => {
  it('replaces what it is told and nothing else', () => {
    expect(spliceText('{"a":1,"b":2}', [{ start: 5, end: 6, text: '10' }])).toBe('{"a":10,"b":2}')
    expect(spliceText('abc', [])).toBe('abc')
    const around = [
      { start: 3, end: 3, text: '>' },
      { start: 0, end: 0, text: '<' },
    ]
    expect(spliceText('abc', around)).toBe('<abc>')
  })
})

describe('spliceArray', () => {
  it('gives the array that was asked for', () => {
    const parts = fc.array(fc.oneof(fc.constant('keep'), fc.constant('drop'), fc.constant('insert')), { maxLength: 12 })
    property(fc.tuple(parts, fc.integer({ min: 0, max: 3 })), ([plan, indent]) => {
      const elements = plan.filter((part) => part !== 'insert').map((_, i) => ({ n: i }))
      const text = written({ list: elements, after: true }, indent)
      const list = member(indexJson(text), 'list')!
      const wanted: unknown[] = []
      const asked: (number | string)[] = []
      let own = 0
      for (const part of plan) {
        if (part === 'insert') {
          asked.push('"new"')
          wanted.push('new')
          continue
        }
        if (part === 'keep') {
          asked.push(own)
          wanted.push({ n: own })
        }
        own++
      }
      const result = spliceText(text, spliceArray(text, list, asked))
      expect(JSON.parse(result)).toEqual({ list: wanted, after: true })
    })
  })

  it('removes one element and one separator and nothing else', () => {
    const text = '[ {"a":1} ,\n  {"b":2} ,\n  {"c":3} ]'
    const list = indexJson(text)
    expect(spliceText(text, spliceArray(text, list, [0, 2]))).toBe('[ {"a":1} ,\n  {"c":3} ]')
    expect(spliceText(text, spliceArray(text, list, [1, 2]))).toBe('[ {"b":2} ,\n  {"c":3} ]')
    expect(spliceText(text, spliceArray(text, list, [0, 1]))).toBe('[ {"a":1} ,\n  {"b":2} ]')
    expect(spliceText(text, spliceArray(text, list, [0, 1, 2]))).toBe(text)
  })
})

describe('members', () => {
  it('changes, adds and removes several members at once', () => {
    const keys = ['a', 'b', 'c', 'd', 'e']
    const change = fc.constantFrom('leave', 'set', 'out')
    property(
      fc.tuple(fc.subarray(keys), fc.tuple(change, change, change, change, change), fc.integer({ min: 0, max: 3 })),
      ([present, plan, indent]) => {
        const body = Object.fromEntries(present.map((key) => [key, [key]]))
        const text = written(body, indent)
        const changes = new Map(
          keys.flatMap((key, i) => (plan[i] === 'leave' ? [] : [[key, plan[i] === 'set' ? '7' : undefined] as const])),
        )
        const expected = { ...body } as Record<string, unknown>
        for (const [key, json] of changes) {
          if (json === undefined) delete expected[key]
          else expected[key] = 7
        }
        const result = spliceText(text, spliceMembers(indexJson(text), changes))
        expect(JSON.parse(result)).toEqual(expected)
      },
    )
  })

  it('finds values by path, in small and in long containers, and the last of repeated keys', () => {
    const list = Array.from({ length: 500 }, (_, i) => `{"n":${i},"n":-${i}}`).join(',')
    const keys = Array.from({ length: 500 }, (_, i) => `"k\\u0030${i}":${i}`).join(',')
    const root = indexJson(`{"list":[${list}],"map":{${keys}},"\\u0061":1}`)
    expect(root.below(['list', 3, 'n'])?.raw).toBe('-3')
    expect(root.below(['list', 499, 'n'])?.raw).toBe('-499')
    expect(root.below(['map', 'k0499'])?.raw).toBe('499')
    expect(root.below(['a'])?.raw).toBe('1')
    expect(root.below(['list', 500])?.raw).toBeUndefined()
    expect(root.below(['none', 'below'])?.raw).toBeUndefined()
  })

  it('replaces, adds and removes one member', () => {
    const text = '{"a":1, "b":[2] ,"c":3}'
    const root = indexJson(text)
    expect(spliceText(text, [spliceMember(root, 'b', '"x"')])).toBe('{"a":1, "b":"x" ,"c":3}')
    expect(spliceText(text, [spliceMember(root, 'd', '4')])).toBe('{"a":1, "b":[2] ,"c":3,"d":4}')
    expect(spliceText(text, spliceMembers(root, new Map([['a', undefined]])))).toBe('{"b":[2] ,"c":3}')
    expect(spliceText(text, spliceMembers(root, new Map([['c', undefined]])))).toBe('{"a":1, "b":[2]}')
    expect(spliceText('{}', [spliceMember(indexJson('{}'), 'd', '4')])).toBe('{"d":4}')
  })
})

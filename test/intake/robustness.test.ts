import { describe, expect, it } from 'vitest'
import * as fc from 'fast-check'
import { classify, neutralise, sanitise, show } from '../../src/engine/intake/index.ts'
import { eachEntry, eachItem, rootSpan } from '../../src/core/json/lexer.ts'
import { renderJson } from '../../src/engine/intake/json/json-view.ts'
import { cutHeadBytes, cutTailBytes, eachLine, countLines } from '../../src/engine/intake/text.ts'
import { cellsOf, eachRow } from '../../src/engine/intake/views/index.ts'
import { options } from './helpers.ts'

const SEED = 4_242

/** Cheap and monotone: these inputs are about structure, and an exact tokenizer is quadratic on some of them. */
const rough = (text: string): number => Math.ceil(text.length / 2)

/** Two megabytes each: what is quadratic or recursive would hang or overflow here. */
const HOSTILE: readonly { name: string; make: () => string }[] = [
  { name: 'nested arrays', make: () => '['.repeat(1_000_000) + ']'.repeat(1_000_000) },
  { name: 'nested objects', make: () => '{"a":'.repeat(400_000) + '1' + '}'.repeat(400_000) },
  { name: 'unclosed brackets', make: () => '['.repeat(2_000_000) },
  { name: 'escaped quotes', make: () => `{"a":"${'\\"'.repeat(1_000_000)}"}` },
  { name: 'an unclosed string', make: () => `{"a":"${'x'.repeat(2_000_000)}` },
  {
    name: 'one object of 200,000 keys',
    make: () => `{${Array.from({ length: 200_000 }, (_, i) => `"k${i}":${i}`).join(',')}}`,
  },
  {
    name: 'records with ever new keys',
    make: () => `[${Array.from({ length: 60_000 }, (_, i) => `{"key${i}":${i},"x":"${i}"}`).join(',')}]`,
  },
  { name: 'only newlines', make: () => '\n'.repeat(2_000_000) },
  { name: 'only spaces', make: () => ' '.repeat(2_000_000) },
  { name: 'terminal codes', make: () => '\u001b[31mred\u001b[0m\r'.repeat(120_000) },
  { name: 'unended terminal strings', make: () => '\u001b]0;title '.repeat(200_000) },
  { name: 'lone surrogates', make: () => '\ud83d \udc00'.repeat(500_000) },
  { name: 'base64', make: () => Buffer.alloc(1_500_000, 'Zz9').toString('base64') },
  { name: 'unclosed quotes in rows', make: () => `a,b,c\n${'""",x,y\n'.repeat(250_000)}` },
  { name: 'unclosed elements', make: () => `<!doctype html>${'<script><style><svg>'.repeat(100_000)}` },
  { name: 'open angle brackets', make: () => `<!doctype html>${'<'.repeat(2_000_000)}` },
  { name: 'fences', make: () => `# a\n${'```\nx\n```\n'.repeat(200_000)}` },
  {
    name: 'a log of random words',
    make: () =>
      Array.from(
        { length: 40_000 },
        (_, i) =>
          `2025-01-01 00:00:00 INFO ${(i * 7919).toString(36).replace(/\d/g, 'q')} ${(i * 104_729).toString(36).replace(/\d/g, 'z')}`,
      ).join('\n'),
  },
]

describe('hostile input of two megabytes', () => {
  it.each(HOSTILE)('$name is shown within its budget', ({ make }) => {
    const text = make()
    const shown = show(text, { ...options(400), countTokens: rough })
    expect(rough(shown.text)).toBeLessThanOrEqual(400)
    expect(shown.original.bytes).toBe(Buffer.byteLength(text))
    if (shown.mime === 'application/json') expect(() => JSON.parse(shown.text) as unknown).not.toThrow()
    expect(/\p{Surrogate}/u.test(shown.text)).toBe(false)
  })
})

describe('any text (seeded)', () => {
  const pieces = fc.constantFrom(
    '[',
    ']',
    '{',
    '}',
    '"',
    '\\',
    ',',
    ':',
    '\n',
    '\r',
    '\t',
    '<',
    '>',
    '|',
    '-',
    '#',
    '`',
    'a',
    '1',
    ' ',
    'error',
    '\u001b[1m',
    '\ud83d',
    '\ude00',
    '中',
    '\u0000',
    'art_00000000000000000000000000',
    '[plimsoll: x]',
    'null',
    '1e9',
  )
  const text = fc.array(pieces, { maxLength: 400 }).map((parts) => parts.join(''))

  it('gives a view within the budget, well formed, with no foreign handle', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 0, max: 120 }), (input, budget) => {
        const shown = show(input, { ...options(budget), countTokens: rough })
        expect(rough(shown.text)).toBeLessThanOrEqual(budget)
        expect(/\p{Surrogate}/u.test(shown.text)).toBe(false)
        expect(shown.text).not.toContain('art_00000000000000000000000000')
        if (shown.mime === 'application/json') JSON.parse(shown.text)
        expect(classify(input).lines).toBe(countLines(input.replace(/^\ufeff/, '')))
      }),
      { seed: SEED, numRuns: 1_500 },
    )
  })

  it('is sanitised once and for all', () => {
    fc.assert(
      fc.property(text, (input) => {
        const clean = neutralise(sanitise(input))
        expect(neutralise(sanitise(clean))).toBe(clean)
      }),
      { seed: SEED, numRuns: 800 },
    )
  })

  it('has lines that join to itself', () => {
    fc.assert(
      fc.property(text, (input) => {
        const lines: string[] = []
        eachLine(input, (start, end) => void lines.push(input.slice(start, end)))
        expect(lines.length).toBe(countLines(input))
        expect(lines.join('\n')).toBe(input.replaceAll('\r\n', '\n').replace(/\n$/, '').replace(/\r$/, ''))
      }),
      { seed: SEED, numRuns: 800 },
    )
  })
})

describe('cuts by bytes (seeded)', () => {
  it('take whole characters, as many as fit', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), fc.integer({ min: 0, max: 120 }), (input, limit) => {
        for (const cut of [cutHeadBytes(input, limit), cutTailBytes(input, limit)]) {
          expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(limit)
          expect(Buffer.from(cut).toString()).toBe(cut)
          if (cut !== input)
            expect(Buffer.byteLength(cut)).toBeGreaterThanOrEqual(
              Math.max(0, Math.min(limit - 3, Buffer.byteLength(input))),
            )
        }
      }),
      { seed: SEED, numRuns: 500 },
    )
  })
})

describe('the JSON scanner (seeded)', () => {
  it('finds the same children as the parser, and a rendering with room is the value', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5, stringUnit: 'binary' }), fc.constantFrom(0, 2), (json, indent) => {
        const value = JSON.parse(json) as unknown
        const text = JSON.stringify(value, undefined, indent)
        expect(rootSpan(text)).toEqual({ start: 0, end: text.length })
        const children: unknown[] = []
        if (Array.isArray(value))
          eachItem(text, 0, (start, end) => void children.push(JSON.parse(text.slice(start, end))))
        else if (value !== null && typeof value === 'object')
          eachEntry(text, 0, ({ start, end }) => void children.push(JSON.parse(text.slice(start, end))))
        if (value !== null && typeof value === 'object') expect(children).toEqual(Object.values(value))
        const whole = renderJson(text, 0, 1_000_000)!
        expect(whole.whole).toBe(true)
        expect(JSON.parse(whole.text)).toEqual(JSON.parse(text.replace(/\\u[dD][89a-fA-F][0-9a-fA-F]{2}/g, '\\ufffd')))
      }),
      { seed: SEED, numRuns: 500 },
    )
  })
})

describe('rows and cells', () => {
  it('are read as they were written (seeded)', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', ' ', ',', '"', '\n', '1', 'é'), maxLength: 6 })
    fc.assert(
      fc.property(fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 8 }), (table) => {
        const csv = table.map((row) => row.map((value) => `"${value.replaceAll('"', '""')}"`).join(',')).join('\n')
        const rows: string[][] = []
        eachRow(csv, 0, ({ start, end }) => void rows.push(cellsOf(csv.slice(start, end), ',')))
        expect(rows).toEqual(table)
      }),
      { seed: SEED, numRuns: 400 },
    )
  })
})

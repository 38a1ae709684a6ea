import { Buffer } from 'node:buffer'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { lineMatcher } from '../../src/engine/readers/line-matcher.ts'
import { bodyOf, random, setup } from './setup.ts'

const SEED = 20261115

describe('artifact_grep', () => {
  const log = Array.from({ length: 1000 }, (_, i) => `${i + 1} ${i % 10 === 3 ? 'ERROR' : 'info'} request ${i * 7}`)

  it('shows matching lines with numbers, totals and the way on', async () => {
    const { put, readers } = setup()
    const handle = await put(log.join('\n'))
    const { text, truncated } = await readers.grep({ handle, pattern: 'ERROR request \\d*21$', limit: 2 })
    expect(text).toContain(`${handle} 10 matches of "ERROR request \\\\d*21$"`)
    expect(text).toContain('4:4 ERROR request 21\n104:104 ERROR request 721\n[shown 1-2 of 10; more: offset=2]')
    expect(truncated).toBe(true)
    const next = await readers.grep({ handle, pattern: 'ERROR request \\d*21$', limit: 100, offset: 2 })
    expect(bodyOf(next.text).split('\n')).toHaveLength(8)
  })

  it('shows context around matches like grep does', async () => {
    const { put, readers } = setup()
    const handle = await put('a\nb\nHIT c\nd\ne\nf\ng\nHIT h\nHIT i\nj\n')
    expect(bodyOf((await readers.grep({ handle, pattern: 'HIT', context: 1 })).text)).toBe(
      '2-b\n3:HIT c\n4-d\n--\n7-g\n8:HIT h\n9:HIT i\n10-j',
    )
  })

  it('ignores case, takes plain text and inverts', async () => {
    const { put, readers } = setup()
    const handle = await put('Alpha\nbeta (1)\nALPHA\r\n')
    expect(bodyOf((await readers.grep({ handle, pattern: 'alpha', ignoreCase: true })).text)).toBe('1:Alpha\n3:ALPHA')
    expect(bodyOf((await readers.grep({ handle, pattern: '(1)', fixed: true })).text)).toBe('2:beta (1)')
    expect(bodyOf((await readers.grep({ handle, pattern: 'a$', invert: true })).text)).toBe('2:beta (1)\n3:ALPHA')
  })

  it('agrees with a backtracking engine on random lines and patterns', async () => {
    console.info(`seed ${SEED}`)
    const atom = fc.constantFrom(
      'a',
      'b',
      'ab',
      'abc',
      '\\.',
      'c|a',
      '.',
      '[ab]',
      '[^a]',
      'é',
      '\\d',
      '\\w',
      '(a|b)',
      '(?:ab|c)',
      ' ',
    )
    const piece = fc
      .tuple(atom, fc.constantFrom('', '', '*', '+', '?', '{1,2}', '*?'))
      .map(([body, repeat]) => body + repeat)
    const pattern = fc
      .tuple(fc.constantFrom('', '^'), fc.array(piece, { minLength: 1, maxLength: 4 }), fc.constantFrom('', '$'))
      .map(([head, body, tail]) => head + body.join('') + tail)
    const lines = fc.array(fc.stringMatching(/^[abcé 1]{0,8}$/), { maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(pattern, lines, fc.boolean(), async (pattern, lines, ignoreCase) => {
        const { put, readers } = setup()
        const { text } = await readers.grep({ handle: await put(lines.join('\n')), pattern, ignoreCase, limit: 1000 })
        const regex = new RegExp(pattern, ignoreCase ? 'iu' : 'u')
        const whole = lines.join('\n')
        const all = whole === '' ? [] : whole.replace(/\n$/, '').split('\n')
        const expected = all.flatMap((line, i) => (regex.test(line) ? [`${i + 1}:${line}`] : []))
        expect(text).toMatch(new RegExp(` ${expected.length} matches of`))
        expect(expected.length === 0 ? '' : bodyOf(text).trimEnd()).toBe(expected.join('\n').trimEnd())
      }),
      { seed: SEED, numRuns: 500 },
    )
  })

  it('finds every match in one line of 3 MB, once, at its byte', async () => {
    const next = random(1)
    const records = Array.from({ length: 50_000 }, (_, i) => ({
      id: i,
      name: `é${'x'.repeat(Math.floor(next() * 40))}`,
      status: i % 5000 === 7 ? 500 : 200,
    }))
    const content = JSON.stringify(records)
    expect(content).not.toContain('\n')
    const { put, readers } = setup()
    const { text } = await readers.grep({ handle: await put(content), pattern: '"status":500' })
    expect(text).toContain(' 10 matches of')
    const bytes = [...text.matchAll(/^1:byte ([\d,]+): .*"status":500/gm)].map(([, at = '']) =>
      Number(at.replaceAll(',', '')),
    )
    const expected = [...content.matchAll(/"status":500/g)].map(({ index }) =>
      Buffer.byteLength(content.slice(0, index)),
    )
    expect(bytes).toEqual(expected)
    expect(Buffer.byteLength(text)).toBeLessThan(6000)
  })

  it('is not misled by the seams of a long line', async () => {
    const content = `${'x'.repeat(700_000)}needle${'y'.repeat(700_000)}`
    const { put, readers } = setup()
    const handle = await put(content)
    const counts = await Promise.all(
      ['^x', 'y$', '^y', 'x$', 'needle', 'xneedley', '^needle', 'n.{0,60}le', '[nm].{0,60}x$', '^n.{0,60}'].map(
        async (pattern) => / ((?:at least )?[\d,]+) matches/.exec((await readers.grep({ handle, pattern })).text)?.[1],
      ),
    )
    expect(counts).toEqual(['1', '1', '0', '0', '1', '1', '0', '1', '0', '0'])
  })

  it('finds needles wherever they fall against chunks and pieces', async () => {
    const { put, readers } = setup()
    const places = [0, 255_000, 258_000, 256 * 1024 - 3, 1024 * 1024 - 3, 1024 * 1024 + 260_000, 2_500_000]
    let content = '.'.repeat(2_600_000)
    for (const at of places) content = `${content.slice(0, at)}needle${content.slice(at + 6)}`
    const { text } = await readers.grep({ handle: await put(content), pattern: 'n[e]+dle' })
    expect([...text.matchAll(/^1:byte ([\d,]+):/gm)].map(([, at = '']) => Number(at.replaceAll(',', '')))).toEqual(
      places,
    )
  })

  it('keeps within its bytes and still counts everything', async () => {
    const { put, readers } = setup({ maxBytes: 1000 })
    const handle = await put(log.join('\n'))
    const { text, truncated } = await readers.grep({ handle, pattern: 'request', limit: 10_000 })
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1000)
    expect(text).toContain(' 1,000 matches of')
    expect(truncated).toBe(true)
  })

  it('takes linear time on the patterns that stop a backtracking engine', async () => {
    const { put, readers } = setup()
    const handle = await put(`${'a'.repeat(200_000)}!\n`)
    for (const pattern of ['(a+)+$', '(a|a)*b', '(a|aa)+$', '(.*a){12}b', '(x+x+)+y', '^(a?){50}a{50}$']) {
      expect((await readers.grep({ handle, pattern })).text).toContain(' 0 matches of')
    }
  })

  it('stops in time and says how far it came', async () => {
    let now = 0
    const { put, readers } = setup({ timeoutMs: 2, clock: { now: () => now++ } })
    const { text, truncated } = await readers.grep({
      handle: await put('line\n'.repeat(2_000_000)),
      pattern: 'nothing',
    })
    expect(text).toMatch(/stopped after 2 ms at byte [\d,]+ of 10,000,000/)
    expect(truncated).toBe(true)
  })

  it('refuses patterns that are wrong or too costly, and says what is', async () => {
    const { put, readers } = setup()
    const handle = await put('x')
    const refusals: [string, RegExp][] = [
      ['(', /not a valid regular expression/],
      ['(?=a)', /no lookahead/],
      ['(a)\\1', /no lookahead, lookbehind or back-references/],
      ['', /empty/],
      ['x'.repeat(2000), /2000 characters/],
      ['((a{100}){100}){100}', /invalid repeat/],
      ['.{0,900}.{0,900}', /add up to 1800/],
    ]
    for (const [pattern, reason] of refusals) {
      await expect(readers.grep({ handle, pattern })).rejects.toMatchObject({
        code: 'bad-input',
        message: expect.stringMatching(reason),
      })
    }
    await expect(readers.grep({ handle, pattern: 'x', limit: -1 })).rejects.toMatchObject({ code: 'bad-input' })
  })
})

describe('line matcher', () => {
  it('finds plain text, ranges and from a place on', () => {
    expect(lineMatcher('b+').find('abbb')).toEqual({ start: 1, end: 4 })
    expect(lineMatcher('b').find('abab', 2)).toEqual({ start: 3, end: 4 })
    expect(lineMatcher('[b]').find('abab', 2)).toEqual({ start: 3, end: 4 })
    expect(lineMatcher('^b').find('ab', 1)).toBeUndefined()
  })
})

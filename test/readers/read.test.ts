import { Buffer } from 'node:buffer'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { pathOf } from '../../src/engine/readers/query.ts'
import { bodyOf, setup } from './setup.ts'

const SEED = 20261115

describe('artifact_read by lines', () => {
  it('gives the lines that were asked for, with totals and the way on', async () => {
    const { put, readers } = setup()
    const handle = await put(Array.from({ length: 1000 }, (_, i) => `line ${i + 1}\n`).join(''))
    const { text, truncated } = await readers.read({ handle, start: 100, count: 3 })
    expect(text).toContain(
      `${handle} lines 100-102 of 1,000 lines, 8,893 bytes\nline 100\nline 101\nline 102\n[more: start=103]`,
    )
    expect(truncated).toBe(false)
    expect(bodyOf((await readers.read({ handle, start: -2 })).text)).toBe('line 999\nline 1000')
    expect((await readers.read({ handle, start: 1001 })).text).toContain('there is no line 1,001')
  })

  it('shows as much as fits and says where it stopped', async () => {
    const { put, readers } = setup({ maxBytes: 1000 })
    const handle = await put(Array.from({ length: 1000 }, (_, i) => `line ${i + 1}`).join('\n'))
    const shown: string[] = []
    let start = 1
    for (;;) {
      const { text } = await readers.read({ handle, start })
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1000)
      shown.push(bodyOf(text))
      const next = /\[more: start=(\d+)\]/.exec(text)
      if (next === null) break
      start = Number(next[1])
    }
    expect(shown.join('\n')).toBe(Array.from({ length: 1000 }, (_, i) => `line ${i + 1}`).join('\n'))
  })

  it('agrees with a plain split on any text and any chunking', async () => {
    console.info(`seed ${SEED}`)
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('', 'a', 'é\u{1f600}', 'x'.repeat(300), '\t'), { maxLength: 30 }),
        fc.boolean(),
        fc.integer({ min: -35, max: 35 }),
        async (lines, ended, start) => {
          const content = lines.join('\n') + (ended ? '\n' : '')
          const expected = content === '' ? [] : content.replace(/\n$/, '').split('\n')
          const { put, readers } = setup({ maxBytes: 100_000 })
          const { text } = await readers.read({ handle: await put(content), start })
          const from = start < 0 ? Math.max(0, expected.length + start) : Math.max(0, start - 1)
          if (from >= expected.length) expect(text).toContain('there is no line')
          else expect(`${bodyOf(text)}|`.trimEnd()).toBe(`${expected.slice(from).join('\n').trimEnd()}|`)
        },
      ),
      { seed: SEED, numRuns: 300 },
    )
  })

  it('finds any line of 3 MB', async () => {
    const { put, readers } = setup()
    const handle = await put(Array.from({ length: 200_000 }, (_, i) => `line ${i + 1}\n`.padStart(16)).join(''))
    expect(bodyOf((await readers.read({ handle, start: 190_000, count: 1 })).text).trim()).toBe('line 190000')
  })

  it('shows the beginning of a line that is too long and how to go on', async () => {
    const { put, readers } = setup({ maxBytes: 2000 })
    const handle = await put(`short\n${'é'.repeat(100_000)}\n`)
    const { text, truncated } = await readers.read({ handle, start: 2 })
    expect(truncated).toBe(true)
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(2000)
    expect(text).toMatch(/line 2 of 2 lines.*longer than one answer/)
    expect(text).toMatch(/é\n\[more: unit="bytes" start=\d+/)
    expect(text).not.toContain('\ufffd')
  })
})

describe('artifact_read by bytes', () => {
  it('pages through text without splitting a character', async () => {
    const { put, readers } = setup({ maxBytes: 700 })
    const content = 'aé€\u{1f600}'.repeat(500)
    const handle = await put(content)
    let start = 0
    let all = ''
    for (;;) {
      const { text } = await readers.read({ handle, unit: 'bytes', start })
      all += bodyOf(text)
      const next = /start=(\d+)\]/.exec(text)
      if (next === null) break
      expect(Number(next[1])).toBeGreaterThan(start)
      start = Number(next[1])
    }
    expect(all).toBe(content)
  })

  it('gives binary as base64, all of it', async () => {
    const { put, readers } = setup({ maxBytes: 1000 })
    const content = Uint8Array.from({ length: 5000 }, (_, i) => (i * 37) % 256)
    const handle = await put(content)
    const parts: Buffer[] = []
    let start = 0
    for (;;) {
      const { text } = await readers.read({ handle, unit: 'bytes', start })
      expect(text).toContain('not UTF-8, shown as base64')
      parts.push(Buffer.from(bodyOf(text), 'base64'))
      const next = /start=(\d+)\]/.exec(text)
      if (next === null) break
      start = Number(next[1])
    }
    expect(Buffer.compare(Buffer.concat(parts), content)).toBe(0)
  })

  it('keeps a log with a broken byte readable', async () => {
    const { put, readers } = setup()
    const handle = await put(
      Buffer.concat([Buffer.from('before '.repeat(20)), Buffer.from([0xff]), Buffer.from(' after\n')]),
    )
    expect((await readers.read({ handle })).text).toContain('\ufffd after')
  })
})

describe('artifact_read by items', () => {
  const records = Array.from({ length: 500 }, (_, i) => ({
    id: i,
    note: `"${i}", [x] {y} \\`,
    nested: { list: [i, [i]] },
  }))

  it('gives elements of a one-line array as valid JSON', async () => {
    const { put, readers } = setup()
    const handle = await put(JSON.stringify(records))
    const { text } = await readers.read({ handle, unit: 'items', start: 100, count: 3 })
    expect(text).toContain('items 100-102 of 500 items')
    expect(JSON.parse(bodyOf(text))).toEqual(records.slice(100, 103))
    expect(JSON.parse(bodyOf((await readers.read({ handle, unit: 'items', start: -2 })).text))).toEqual(
      records.slice(-2),
    )
  })

  it('reads an array inside an object by its path', async () => {
    const { put, readers } = setup()
    const handle = await put(
      JSON.stringify({ meta: { items: [1] }, result: { 'odd.key': 1, items: records } }, undefined, 2),
    )
    for (const path of ['result.items', '/result/items', '$.result.items', "result['items']"]) {
      expect(
        JSON.parse(bodyOf((await readers.read({ handle, unit: 'items', path, start: 7, count: 1 })).text)),
      ).toEqual([records[7]])
    }
    const deep = await readers.read({ handle, unit: 'items', path: 'result.items[3].nested.list' })
    expect(JSON.parse(bodyOf(deep.text))).toEqual([3, [3]])
    await expect(readers.read({ handle, unit: 'items' })).rejects.toMatchObject({
      code: 'bad-input',
      message: expect.stringContaining('"meta", "result"'),
    })
    await expect(readers.read({ handle, unit: 'items', path: 'result.nothing' })).rejects.toMatchObject({
      code: 'bad-input',
    })
  })

  it('reads JSON lines, and refuses what is not JSON', async () => {
    const { put, readers } = setup()
    const lines = await put(records.map((record) => JSON.stringify(record)).join('\n'))
    expect(
      JSON.parse(bodyOf((await readers.read({ handle: lines, unit: 'items', start: 20, count: 2 })).text)),
    ).toEqual(records.slice(20, 22))
    const prose = await put('just some words\nand more\n')
    await expect(readers.read({ handle: prose, unit: 'items' })).rejects.toMatchObject({ code: 'bad-input' })
  })

  it('pages through everything, whatever the room', async () => {
    const { put, readers } = setup({ maxBytes: 900 })
    const handle = await put(JSON.stringify(records))
    const all: unknown[] = []
    for (let start = 0; ;) {
      const { text } = await readers.read({ handle, unit: 'items', start })
      all.push(...(JSON.parse(bodyOf(text)) as unknown[]))
      const next = /start=(\d+)\]/.exec(text)
      if (next === null) break
      start = Number(next[1])
    }
    expect(all).toEqual(records)
  })

  it('shows the beginning of an item that does not fit', async () => {
    const { put, readers } = setup({ maxBytes: 900 })
    const { text, truncated } = await readers.read({
      handle: await put(JSON.stringify(['x'.repeat(5000), 1])),
      unit: 'items',
    })
    expect(text).toContain('item 0 of 2 items has 5,002 bytes')
    expect(truncated).toBe(true)
  })

  it('gives the values that JSON.parse sees', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.jsonValue(), { minLength: 1, maxLength: 8 }),
        fc.boolean(),
        async (values, spaced) => {
          const { put, readers } = setup({ maxBytes: 100_000 })
          const handle = await put(JSON.stringify({ skip: values, 'a b': { list: values } }, undefined, spaced ? 2 : 0))
          const { text } = await readers.read({ handle, unit: 'items', path: '/a b/list' })
          expect(JSON.parse(bodyOf(text))).toEqual(JSON.parse(JSON.stringify(values)))
        },
      ),
      { seed: SEED, numRuns: 200 },
    )
  })

  it('understands the usual ways to write a path', () => {
    expect(pathOf('a.b[0].c')).toEqual(['a', 'b', '0', 'c'])
    expect(pathOf('/a~1b/c~0d')).toEqual(['a/b', 'c~d'])
    expect(pathOf('')).toEqual([])
  })
})

describe('artifact_read refuses', () => {
  it('handles that are not there, with a hint', async () => {
    const { readers, put } = setup()
    await put('x')
    await expect(readers.read({ handle: '../../etc/passwd' })).rejects.toMatchObject({
      code: 'not-found',
      message: expect.stringContaining('exactly as it was shown'),
    })
    await expect(readers.read({ handle: `art_${'0'.repeat(26)}` })).rejects.toMatchObject({ code: 'not-found' })
  })

  it('numbers that mean nothing', async () => {
    const { readers, put } = setup()
    const handle = await put('x')
    await expect(readers.read({ handle, start: 0.5 })).rejects.toMatchObject({ code: 'bad-input' })
    await expect(readers.read({ handle, count: 0 })).rejects.toMatchObject({ code: 'bad-input' })
  })
})

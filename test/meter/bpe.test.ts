import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { get_encoding } from 'tiktoken'
import { describe, expect, it } from 'vitest'
import { filesBelow, readText, sharedData } from '../../bench/lib/shared.ts'
import { loadTiktoken, type TiktokenEncoding } from '../../src/drivers/tokenizers/tokenizers.ts'
import { awkwardText, seeded } from './random.ts'

const SEED = 20_261_115

describe.each(['o200k', 'cl100k'] as const)('exact BPE: %s', async (encoding: TiktokenEncoding) => {
  const count = (await loadTiktoken(encoding))!
  const reference = get_encoding(`${encoding}_base`)
  const expected = (text: string): number => reference.encode_ordinary(text).length

  it(`agrees with the reference on 4,000 awkward strings (seed ${SEED})`, () => {
    const random = seeded(SEED)
    for (let i = 0; i < 4000; i++) {
      const text = awkwardText(random, 14)
      expect(count(text), JSON.stringify(text)).toBe(expected(text))
    }
  })

  it('agrees with the reference on this source tree', () => {
    for (const path of ['src/meter/bpe/bpe.ts', 'src/core/price.ts', 'package.json']) {
      const text = readFileSync(path, 'utf8')
      expect(count(text), path).toBe(expected(text))
    }
  })

  it('agrees with the reference on runs that make other tokenizers quadratic', () => {
    for (const run of ['a', 'ab', ' ', '\n', '-', '的', '😀', '\t ', 'Ab1']) {
      for (const length of [1, 2, 19, 20, 21, 22, 127, 500]) {
        const text = run.repeat(length)
        expect(count(text), `${JSON.stringify(run)} x ${length}`).toBe(expected(text))
      }
    }
  })

  it('counts nothing for nothing', () => {
    expect(count('')).toBe(0)
  })

  it('agrees with the reference on the shared tool outputs', () => {
    const data = sharedData()
    if (data === undefined) {
      console.warn('shared data absent: exact counts were compared on fixtures only')
      return
    }
    const root = join(data, 'tool-outputs')
    const files = filesBelow(root).filter((path) => /^(multilingual|github-api|html|logs)\//.test(path))
    expect(files.length).toBeGreaterThan(10)
    for (const path of files) {
      const text = readText(join(root, path)).slice(0, 20_000)
      expect(count(text), path).toBe(expected(text))
    }
  })
})

describe('exact BPE on a megabyte without a boundary', () => {
  it.each([
    ['one letter', 'a'],
    ['blanks', ' '],
    ['one Han character', '的'],
    ['one emoji', '😀'],
  ])('finishes on %s and counts in proportion', async (_, unit) => {
    const count = (await loadTiktoken('o200k'))!
    const length = Math.floor(1_000_000 / Buffer.byteLength(unit))
    const whole = count(unit.repeat(length))
    const tenth = count(unit.repeat(Math.floor(length / 10)))
    expect(whole / tenth).toBeGreaterThan(9.9)
    expect(whole / tenth).toBeLessThan(10.1)
  })
})

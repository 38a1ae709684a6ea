import { describe, expect, it } from 'vitest'
import { loadCorpus } from '../../bench/lib/corpus.ts'
import { sharedData } from '../../bench/lib/shared.ts'
import { loadTiktoken } from '../../src/drivers/tokenizers/tokenizers.ts'
import { estimateTokens, FAMILY_FITS } from '../../src/meter/estimator/estimate.ts'
import { scan } from '../../src/meter/estimator/scan.ts'
import { awkwardText, seeded } from './random.ts'

const SEED = 7
const PROSE =
  'The ship was loaded until the water reached the line that the surveyor had painted on her hull. Nobody on the quay ' +
  'could say who had given the order, and the harbour master did not ask. '
const CODE =
  'export function limitOf(target: Target, buffer: number): Limit {\n  return { tokens: target.window - buffer }\n}\n'
const JSON_TEXT = '{"id":"a81f","name":"limit","values":[1,2.5,1024],"nested":{"ok":true,"error":null}}\n'
const LOG = '2026-11-15T04:23:11.482Z INFO [worker-3] request 5f2a9c handled in 182ms status=200 bytes=10482\n'
const CHINESE = '系统在每次请求之前检查上下文窗口的大小，并在必要时压缩较早的工具输出。'

describe('fast estimator', async () => {
  const exact = (await loadTiktoken('o200k'))!

  it.each([
    ['prose', PROSE],
    ['code', CODE],
    ['json', JSON_TEXT],
    ['logs', LOG],
    ['cjk', CHINESE],
  ] as const)('names the kind and holds the exact count of %s in its interval', (kind, unit) => {
    const text = unit.repeat(10)
    const estimate = estimateTokens(text, 'o200k')
    const real = exact(text)
    expect(estimate.kind).toBe(kind)
    expect(estimate.low).toBeLessThanOrEqual(real)
    expect(estimate.high).toBeGreaterThanOrEqual(real)
    expect(Math.abs(estimate.tokens / real - 1)).toBeLessThan(0.08)
  })

  it('counts every blank and symbol of ASCII in front of a number as a piece of its own', () => {
    const number = scan('7')
    for (let code = 0; code < 0x80; code++) {
      const sign = String.fromCharCode(code)
      if (/[\dA-Za-z]/.test(sign)) continue
      const alone = scan(sign)
      expect(scan(`${sign}7`), JSON.stringify(sign)).toEqual(alone.map((count, feature) => count + number[feature]!))
    }
  })

  it('is empty for the empty text and at least one token for anything else', () => {
    expect(estimateTokens('', 'o200k')).toMatchObject({ tokens: 0, low: 0, high: 0 })
    for (const text of ['.', ' ', '\n', '😀', '\ud800'])
      expect(estimateTokens(text, 'o200k').tokens).toBeGreaterThanOrEqual(1)
  })

  it(`gives ordered, finite intervals for awkward strings in every family (seed ${SEED})`, () => {
    const random = seeded(SEED)
    for (let i = 0; i < 500; i++) {
      const text = awkwardText(random, 20)
      for (const family of [...Object.keys(FAMILY_FITS), 'nobody-knows']) {
        const { tokens, low, high } = estimateTokens(text, family)
        expect(Number.isFinite(high), JSON.stringify(text)).toBe(true)
        expect(low).toBeLessThanOrEqual(tokens)
        expect(tokens).toBeLessThanOrEqual(high)
      }
    }
  })

  it.each([
    ['one letter', 'a', 1_000_000],
    ['one Han character', '的', 200_000],
    ['blanks', ' ', 1_000_000],
    ['dashes', '-', 1_000_000],
    ['emoji', '😀', 100_000],
  ])('is within a quarter of the exact count on a long run of %s', (_, unit, length) => {
    const text = unit.repeat(length)
    const ratio = estimateTokens(text, 'o200k').tokens / exact(text)
    expect(ratio).toBeGreaterThan(0.75)
    expect(ratio).toBeLessThan(1.25)
  })

  it('widens the interval for a family without a fit', () => {
    const known = estimateTokens(PROSE, 'o200k')
    const unknown = estimateTokens(PROSE, 'nobody-knows')
    expect(unknown.high - unknown.low).toBeGreaterThan(known.high - known.low)
  })

  it('holds the promised errors on held-out shared data', () => {
    const data = sharedData()
    if (data === undefined) {
      console.warn('shared data absent: the estimator was checked on fixtures only')
      return
    }
    const pieces = loadCorpus(data).filter(({ heldOut, kind }) => heldOut && kind !== 'markup' && kind !== 'tables')
    const errors: number[] = []
    let inside = 0
    for (const { text } of pieces) {
      const real = exact(text)
      const { tokens, low, high } = estimateTokens(text, 'o200k')
      errors.push(Math.abs(tokens / real - 1))
      if (low <= real && real <= high) inside++
    }
    errors.sort((a, b) => a - b)
    const mean = errors.reduce((sum, error) => sum + error, 0) / errors.length
    expect(mean).toBeLessThanOrEqual(0.03)
    expect(errors[Math.floor(errors.length * 0.95)]).toBeLessThanOrEqual(0.08)
    expect(inside / pieces.length).toBeGreaterThanOrEqual(0.95)
  })
})

import { describe, expect, it } from 'vitest'
import type { Conversation } from '../../src/core/conversation.ts'
import type { Item } from '../../src/core/item.ts'
import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import { createCalibration, createMeter, occupancyByDifference, type Measurement } from '../../src/meter/index.ts'

const unknown = { model: 'nobody-knows-1', endpoint: 'http://one.test' }
const known = { model: 'claude-sonnet-4-5', endpoint: 'http://one.test' }

const picture = (bytes: number): Item => ({
  id: 'p',
  kind: 'media',
  role: 'user',
  text: '',
  message: 0,
  media: [{ type: 'image', mime: 'image/png', data: Buffer.alloc(bytes, 1).toString('base64') }],
})

const png = (width: number, height: number, bytes: number): Item => {
  const data = Buffer.alloc(bytes)
  data.writeUInt32BE(0x89504e47, 0)
  data.write('IHDR', 12, 'latin1')
  data.writeUInt32BE(width, 16)
  data.writeUInt32BE(height, 20)
  return { ...picture(0), media: [{ type: 'image', mime: 'image/png', data: data.toString('base64') }] }
}

const request = (items: readonly Item[], tools: Conversation['tools'] = []): Conversation => ({
  format: 'openai-chat',
  head: [],
  items,
  tools,
  settings: { stream: false, reasoning: false },
  source: { format: 'openai-chat', value: undefined },
})

describe('media', () => {
  it('of a known size costs what the rule says, however well it is packed, also on an unknown model', () => {
    const meter = createMeter({ catalogue: bundledCatalogue() })
    for (const target of [unknown, known]) {
      expect(meter.countItem(target, png(800, 600, 5_000_000))).toEqual(meter.countItem(target, png(800, 600, 9_000)))
      expect(meter.countItem(target, png(800, 600, 5_000_000)).high).toBeLessThan(2_000)
    }
  })

  it('that nobody can measure on a model that nobody knows may cost as much as its bytes, and pictures err together', () => {
    const meter = createMeter({ catalogue: bundledCatalogue() })
    expect(meter.countItem(known, picture(100_000)).high).toBeLessThan(2_000)
    expect(meter.countItem(unknown, picture(100_000))).toMatchObject({ high: 25_001, source: 'unknown' })
    const four = meter.measureItems(
      unknown,
      Array.from({ length: 4 }, () => picture(100_000)),
    )
    expect(four.count.high).toBeGreaterThanOrEqual(100_000)
    expect(four.byClass.media).toBe(100_004)
  })

  it('is learned from one measured request, apart from text', () => {
    const calibration = createCalibration()
    const meter = createMeter({ catalogue: bundledCatalogue(), calibration })
    expect(calibration.predict(unknown, {})).toBeUndefined()
    calibration.observe({ target: unknown, estimated: { code: 500, fixed: 10, media: 25_000 }, real: 3_010, at: 0 })
    expect(calibration.predict(unknown, {})!.media!.factor).toBeCloseTo(0.1, 2)
    expect(Math.abs(calibration.predict(unknown, { code: 1 })!.tokens - 1)).toBeLessThan(0.1)
    const count = meter.countItem(unknown, picture(100_000))
    expect(count).toMatchObject({ source: 'calibrated' })
    expect(Math.abs(count.tokens - 2_500)).toBeLessThan(150)
    expect(count.high).toBeLessThan(3_200)
    expect(calibration.predict({ ...unknown, endpoint: 'http://two.test' }, {})).toBeUndefined()
  })

  it('does not end the caution about text, and text not that about media', () => {
    const calibration = createCalibration()
    calibration.observe({ target: unknown, estimated: { code: 200, fixed: 10, media: 40_000 }, real: 40_210, at: 0 })
    expect(calibration.predict(unknown, {})!.evidence).toBeLessThan(0.02)
    calibration.observe({ target: unknown, estimated: { code: 4_000 }, real: 4_000, at: 0 })
    expect(calibration.predict(unknown, {})!.evidence).toBeGreaterThanOrEqual(1)
    const words = createCalibration()
    words.observe({ target: unknown, estimated: { code: 4_000 }, real: 4_000, at: 0 })
    expect(words.predict(unknown, {})!.media).toBeUndefined()
  })
})

describe('tool declarations', () => {
  it('have a factor of their own: what a vendor makes of them says nothing about text or framing', () => {
    const calibration = createCalibration()
    calibration.observe({ target: known, estimated: { prose: 900, fixed: 60, tools: 20_000 }, real: 50_960, at: 0 })
    for (let i = 0; i < 4; i++) {
      calibration.observe({ target: known, estimated: { prose: 2_000, fixed: 40 }, real: 2_040, at: 0 })
    }
    expect(calibration.predict(known, { prose: 1 })!.tokens).toBeCloseTo(1, 2)
    expect(Math.abs(calibration.predict(known, { tools: 1_000 })!.tokens - 2_500)).toBeLessThan(150)
    expect(calibration.predict(known, { fixed: 1_000 })!.tokens).toBeCloseTo(1_000, -2)
  })
})

describe('a request that was rewritten since it was measured', () => {
  const meter = createMeter({ catalogue: bundledCatalogue() })
  const measured = (over: Partial<Measurement>): Measurement => ({
    count: { tokens: 5_000, low: 3_500, high: 6_500, source: 'estimate' },
    raw: { tokens: 5_000, low: 3_500, high: 6_500, source: 'estimate' },
    bytes: 0,
    byClass: { tools: 4_800, prose: 200 },
    parts: { head: 0, tools: 4_800, items: 200, framing: 0 },
    ...over,
  })

  it('is as sure as what it shares with the measured one', () => {
    const { count } = occupancyByDifference(meter, known, request([]), measured({}), {
      prompt: 6_300,
      byClass: { tools: 4_800, prose: 500 },
    })
    expect(count.tokens).toBe(6_000)
    // Sure of the tools, which both have; in doubt about the prose that is gone, and about nothing else.
    const gone = meter.countClasses(known, { prose: 300 })
    expect(count.high - count.low).toBe(gone.high - gone.low)
  })

  it('may be as much above its count as the measured one was', () => {
    const own = measured({
      count: { tokens: 26_500, low: 24_700, high: 28_300, source: 'calibrated' },
      byClass: { prose: 26_500 },
    })
    // By the same count the measured prompt was 25,000, and the provider said 28,750.
    const once = { prompt: 28_750, byClass: { code: 15_000, prose: 10_000 } }
    const { count } = occupancyByDifference(meter, known, request([]), own, once)
    expect(meter.countClasses(known, once.byClass).tokens).toBe(25_000)
    expect(count.high).toBeGreaterThanOrEqual(Math.floor((26_500 * 28_750) / 25_000))
    expect(count.low).toBeGreaterThanOrEqual(24_700)
  })

  it('is counted anew where the measurement cannot be true of it', () => {
    const own = measured({})
    expect(
      occupancyByDifference(meter, known, request([]), own, { prompt: 900, byClass: { tools: 4_800, prose: 500 } }),
    ).toBe(own)
    expect(occupancyByDifference(meter, known, request([]), own, undefined)).toBe(own)
  })
})

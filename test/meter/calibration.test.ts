import { describe, expect, it } from 'vitest'
import type { EventBody } from '../../src/core/events.ts'
import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import { type Calibration, createCalibration, createMeter, type Observation } from '../../src/meter/index.ts'
import { seeded } from './random.ts'

const SEED = 42
const target = { model: 'claude-sonnet-4-5', endpoint: 'https://one.example' }

function observation(text: number, real: number, more: Partial<Observation> = {}): Observation {
  return { target, estimated: { code: text, fixed: 100 }, real, at: 0, ...more }
}

/** What a thousand tokens of a kind of text are predicted to be, in thousands. */
const factorOf = (calibration: Calibration, kind: 'code' | 'prose' = 'code'): number | undefined => {
  const predicted = calibration.predict(target, { [kind]: 1000 })
  return predicted && predicted.tokens / 1000
}

/** The factor after six equal samples and, a pause later, a smaller one. */
const learn = (pause: number): number => {
  const calibration = createCalibration()
  for (let i = 0; i < 6; i++) calibration.observe(observation(2000, 100 + 2000 * 1.3))
  calibration.observe(observation(2000, 100 + 2000 * 1.22, { at: pause }))
  return factorOf(calibration)!
}

describe('calibration', () => {
  it('knows nothing before it saw anything', () => {
    const calibration = createCalibration()
    expect(factorOf(calibration)).toBeUndefined()
    expect(calibration.predict(target, { code: 100 })).toBeUndefined()
  })

  it('learns a factor on the text and leaves framing alone', () => {
    const calibration = createCalibration()
    for (let i = 0; i < 6; i++) calibration.observe(observation(2000, 100 + 2000 * 1.2))
    expect(factorOf(calibration)).toBeCloseTo(1.2, 2)
    expect(calibration.predict(target, { code: 1000, fixed: 500 })?.tokens).toBeCloseTo(1700, -1)
  })

  it('does not forget large prompts over many small answers of one shape', () => {
    // A provider with a heavier tokenizer and lighter framing than estimated; thirty polls of a running command push nothing out.
    const real = (text: number, fixed: number): number => text * 1.3 + fixed * 0.2
    const calibration = createCalibration()
    const sizes = [9_400, 730, 1_580, 6_990, 2_200, 1_080, 1_800]
    for (const text of sizes)
      calibration.observe({ target, estimated: { prose: text, fixed: 70 }, real: real(text, 70), at: 0 })
    for (let i = 0; i < 30; i++) {
      const text = 95 + (i % 7) * 6
      calibration.observe({ target, estimated: { prose: text, fixed: 70 }, real: real(text, 70), at: 0 })
    }
    const { tokens, half = 0 } = calibration.predict(target, { prose: 25_000, fixed: 150 })!
    expect(tokens + half).toBeGreaterThanOrEqual(real(25_000, 150))
    expect(Math.abs(tokens / real(25_000, 150) - 1)).toBeLessThan(0.05)
    expect(Object.values(calibration.state().models)[0]!.samples).toHaveLength(20)
  })

  it('keeps endpoints and models apart', () => {
    const calibration = createCalibration()
    calibration.observe(observation(2000, 3000))
    expect(calibration.predict({ ...target, endpoint: 'https://two.example' }, {})).toBeUndefined()
    expect(calibration.predict({ ...target, model: 'gpt-4o' }, {})).toBeUndefined()
  })

  it(`is not moved by outliers (seed ${SEED})`, () => {
    const random = seeded(SEED)
    const calibration = createCalibration()
    for (let i = 0; i < 40; i++) {
      const noise = 1 + (random(400) - 200) / 10_000
      const real = i % 5 === 4 ? 2000 * 2.8 : 2000 * 1.1 * noise
      calibration.observe(observation(2000, 100 + real))
    }
    expect(factorOf(calibration)).toBeGreaterThan(1.07)
    expect(factorOf(calibration)).toBeLessThan(1.13)
  })

  it('never believes a factor outside its clamp', () => {
    const calibration = createCalibration()
    for (let i = 0; i < 10; i++) calibration.observe(observation(1000, 100_000))
    expect(factorOf(calibration)).toBeLessThanOrEqual(3)
    for (let i = 0; i < 30; i++) calibration.observe(observation(10_000, 150))
    expect(factorOf(calibration)).toBeGreaterThanOrEqual(0.4)
  })

  it(`follows a tokenizer that becomes 1.35 times heavier within five responses and says so (seed ${SEED})`, () => {
    const random = seeded(SEED)
    const events: EventBody[] = []
    const calibration = createCalibration({ onEvent: (event) => events.push(event) })
    const real = (factor: number): number => 100 + 1800 * factor * (1 + (random(300) - 150) / 10_000)
    for (let i = 0; i < 20; i++) calibration.observe(observation(1800, real(1.1)))
    expect(events).toEqual([])
    for (let i = 0; i < 5; i++) calibration.observe(observation(1800, real(1.1 * 1.35)))
    const predicted = calibration.predict(target, { code: 1800, fixed: 100 })!.tokens
    expect(Math.abs(predicted / (100 + 1800 * 1.1 * 1.35) - 1)).toBeLessThan(0.03)
    expect(events).toHaveLength(1)
    expect(events[0]).toMatchObject({ type: 'calibration-drifted', model: target.model })
  })

  it('returns to what honest samples said when three odd ones came in between', () => {
    const calibration = createCalibration()
    for (let i = 0; i < 12; i++) calibration.observe(observation(2000, 100 + 2000 * 1.1))
    for (let i = 0; i < 3; i++) calibration.observe(observation(2000, 100 + 2000 * 1.9))
    for (let i = 0; i < 3; i++) calibration.observe(observation(2000, 100 + 2000 * 1.1))
    expect(factorOf(calibration)).toBeCloseTo(1.1, 2)
    const samples = Object.values(calibration.state().models)[0]!.samples
    expect(samples).toHaveLength(18)
    expect(samples.filter(({ real }) => real === 2300).every(({ isContradicted }) => isContradicted !== true)).toBe(
      true,
    )
  })

  it('learns content classes apart once each was seen', () => {
    const calibration = createCalibration()
    for (let i = 0; i < 6; i++) {
      calibration.observe({ target, estimated: { code: 2000 }, real: 2600, at: 0 })
      calibration.observe({ target, estimated: { prose: 2000 }, real: 2100, at: 0 })
    }
    expect(factorOf(calibration, 'code')).toBeCloseTo(1.3, 1)
    expect(factorOf(calibration, 'prose')).toBeCloseTo(1.05, 1)
  })

  it('ignores growth too small to say anything, and reports below the framing', () => {
    const calibration = createCalibration()
    calibration.observe(observation(20, 500))
    calibration.observe(observation(2000, 20))
    expect(factorOf(calibration)).toBeUndefined()
  })

  it('goes on where its stored state ended', () => {
    const first = createCalibration()
    for (let i = 0; i < 6; i++) first.observe(observation(2000, 100 + 2500))
    const stored = JSON.parse(JSON.stringify(first.state())) as ReturnType<typeof first.state>
    const second = createCalibration({ state: stored })
    expect(factorOf(second)).toBe(factorOf(first))
  })

  it('lets a fresh sample overrule stored ones after a long pause', () => {
    expect(learn(365 * 24 * 3600 * 1000)).toBeLessThan(learn(0))
  })

  it('scales what the meter counts and narrows its interval', () => {
    const catalogue = bundledCatalogue()
    const calibration = createCalibration()
    const plain = createMeter({ catalogue }).countText(target, 'const limit = window - buffer\n'.repeat(200))
    for (let i = 0; i < 6; i++) calibration.observe({ target, estimated: { code: 3000 }, real: 3300, at: 0 })
    const scaled = createMeter({ catalogue, calibration }).countText(
      target,
      'const limit = window - buffer\n'.repeat(200),
    )
    expect(scaled.source).toBe('calibrated')
    expect(scaled.tokens / plain.tokens).toBeCloseTo(1.1, 2)
    expect((scaled.high - scaled.low) / scaled.tokens).toBeLessThan((plain.high - plain.low) / plain.tokens)
  })
})

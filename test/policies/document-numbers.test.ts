import { describe, expect, it } from 'vitest'
import type { Limit } from '../../src/core/target.ts'
import { highWater } from '../../src/engine/epoch/thresholds.ts'
import { designOf } from '../../src/engine/presets/design.ts'
import { policyNamed, slidingWindow } from '../../src/engine/presets/index.ts'

/** The numbers of the documents as data of the shipped presets; `edges.test.ts` and the presets' own files hold what they do. */
const stepOf = (policy: string, step: string, n = 0) =>
  policyNamed(policy, {}).cascade.filter((one) => one.step === step)[n]

const windowOf = (window: number): Limit => ({
  window,
  buffer: 0,
  outputReserve: 0,
  tokens: window,
  bytes: 32_000_000,
  source: 'config',
})

describe('the documents’ numbers', () => {
  it('autosre', () => {
    const policy = policyNamed('autosre', {})
    expect(policy.water).toMatchObject({ highTokens: 24_000 })
    expect(policy.intake.guard).toMatchObject({ items: 50, chars: 100_000 })
    expect(stepOf('autosre', 'summarise')).toMatchObject({ tail: 5, minimum: 10, maxTokens: 2_000 })
    expect(stepOf('autosre', 'emergency')).toEqual({
      step: 'emergency',
      aboveTokens: 750_000,
      keep: 10,
      hardAboveTokens: 900_000,
      keepHard: 6,
      bulletChars: 4_000,
      charsPerToken: 2.5,
    })
    expect(stepOf('autosre', 'squeeze-budget')).toMatchObject({ tokens: 32_000, minimum: 10 })
  })

  it('cyber-autoagent', () => {
    const policy = policyNamed('cyber-autoagent', {})
    expect(policy).toMatchObject({
      defaultWindow: 200_000,
      passes: 3,
      timeMs: 30_000,
      retention: { keep: 100, cleanAt: 150 },
    })
    expect(policy.water).toMatchObject({ high: 0.65, low: 0.65, warn: 0.8 })
    expect(designOf(policy).messages?.most).toBe(70)
    expect([highWater(policy, windowOf(1_000)), highWater(policy, windowOf(1_000), true)]).toEqual([650, 750])
    const zones = { preserveFirst: 1, preserveLast: 5 }
    expect(stepOf('cyber-autoagent', 'compress-results')).toMatchObject({ ...zones, fromChars: 10_000, toChars: 8_000 })
    expect(stepOf('cyber-autoagent', 'window')).toMatchObject({ ...zones, size: 100, target: 0.9 })
    expect(stepOf('cyber-autoagent', 'summarise')).toMatchObject({ scope: 0.3 })
    expect(stepOf('cyber-autoagent', 'summarise', 1)).toMatchObject({ above: 0.9 })
    expect(stepOf('cyber-autoagent', 'summarise', 2)).toMatchObject({ above: 0.9 })
    const scaled = policyNamed('cyber-autoagent', { CYBER_CONVERSATION_PRESERVE_LAST: 'auto' }).cascade[0]
    expect(scaled).toMatchObject({ preserveLast: 15 })
    const small = policyNamed('cyber-autoagent', {
      CYBER_CONVERSATION_PRESERVE_LAST: 'auto',
      CYBER_CONVERSATION_WINDOW: '20',
    }).cascade[0]
    expect(small).toMatchObject({ preserveLast: 8 })
  })

  it('contextguard', () => {
    const policy = policyNamed('contextguard', {})
    expect([199_999, 200_000, 500_000].map((window) => window - highWater(policy, windowOf(window)))).toEqual([
      39_999, 20_000, 20_000,
    ])
    expect(policy).toMatchObject({ estimator: { defaultFactor: 2.5 }, passes: 3 })
    expect(designOf(policyNamed('contextguard-window', {})).messages?.most).toBe(21)
    expect(stepOf('contextguard-window', 'summarise')).toMatchObject({ tail: 6 })
    expect(slidingWindow(5).cascade[0]).toMatchObject({ step: 'summarise', tail: 3 })
  })

  it('adk-code', () => {
    const policy = policyNamed('adk-code', {})
    expect(policy).toMatchObject({ reserve: 0.1, stop: 0.95, defaultWindow: 1_000_000, water: { high: 0.7 } })
    expect(policy.intake.guard).toMatchObject({ bytes: 10_240, lines: 256 })
    expect(stepOf('adk-code', 'summarise')).toMatchObject({ tail: 10 })
  })

  it('ai-agent', () => {
    const policy = policyNamed('ai-agent', {})
    expect(policy).toMatchObject({ defaultWindow: 131_072, buffer: { max: 8_192 }, reserve: 'quarter' })
    expect(policy.intake.guard).toMatchObject({ bytes: 12_288 })
  })
})

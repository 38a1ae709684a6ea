import { describe, expect, it } from 'vitest'
import { brokenLines, coverageLines, presetTables, type PresetReplay } from '../../bench/lib/preset-table.ts'

const replay: PresetReplay = {
  folder: 'pi',
  file: 'a.jsonl',
  format: 'pi',
  policy: 'ai-agent',
  window: 32_000,
  limit: 29_000,
  calls: 10,
  messages: 20,
  overflows: 1,
  invalid: 0,
  lost: 0,
  refused: 4,
  doubtful: 0,
  fixedLoad: 900,
  requestsHash: '',
  epochs: 2,
  closing: 3,
  summarizerCalls: 0,
  peakLoad: 28_000,
  quoteRecall: 0.5,
  nameRecall: 0.75,
  recoverableRecall: 1,
  fetchedAgain: { results: 0, tokens: 0, costUsd: 0 },
  handover: {
    userKept: 1,
    assistantKept: 1,
    linesAlone: 0,
    editsWithChange: 1,
    falseOutcomes: 0,
    gapMarks: 0,
    callsWithArgument: 1,
    openItems: 1,
    compactions: 2,
  },
  costUsd: 1.5,
  unmanagedCostUsd: 3,
  cacheHitRate: 0.9,
  coldCalls: 1,
  ms: 1,
}

describe('table of presets', () => {
  it('tells overflows and typed errors apart', () => {
    expect(presetTables([replay], 'All').at(-2)).toBe(
      '| `ai-agent` | 0.500 | 0.750 | 1.000 | $1.50 | 2 | 3 | 4 | 1 | 0 | 0 |',
    )
  })

  it('names what broke a promise, once for all policies', () => {
    const lossy = { ...replay, lost: 1 }
    expect(brokenLines([replay, lossy, { ...lossy, policy: 'plimsoll', invalid: 2 }])).toContain(
      '- `pi/a.jsonl`, in 2 replays: 2 invalid, 2 lost',
    )
    expect(brokenLines([replay])).toEqual([])
  })

  it('says that it is over everything only where it is', () => {
    const whole = [
      { folder: 'pi', taken: ['a'], files: 1 },
      { folder: 'cline', taken: ['b', 'c'], files: 2 },
    ]
    expect(coverageLines(whole, ['pi', 'cline'])).toEqual(['All files of every folder: pi 1 of 1, cline 2 of 2.', ''])
  })

  it('names what was taken and what was left out of a part', () => {
    expect(coverageLines([{ folder: 'cline', taken: ['b'], files: 2 }], ['pi', 'cline'])).toEqual([
      '**A part of the recordings.** Files: cline 1 of 2.',
      'Left out: pi.',
      'From cline: b.',
      '',
    ])
  })
})

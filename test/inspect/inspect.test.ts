import { describe, expect, it } from 'vitest'

import { inspect } from '../../src/lab/inspect/inspect.ts'
import { loadFile } from '../../src/lab/transcripts/load.ts'
import { filesOf, recorded } from '../support/shared-data.ts'
import { byCharacter, SAMPLE } from './sample.ts'

describe('inspect', () => {
  const inspection = inspect(SAMPLE, { countText: byCharacter, window: 2000 })
  const slice = (kind: string, tool?: string) => inspection.slices.find((one) => one.kind === kind && one.tool === tool)

  it('counts each item once and as often as it was sent', () => {
    expect(slice('user')).toMatchObject({ items: 2, tokens: 87, sentTokens: 80 * 4 + 7 })
    expect(slice('results', 'Bash')).toMatchObject({ items: 2, tokens: 800, sentTokens: 400 * 2 + 400 })
    expect(slice('system')).toMatchObject({ tokens: 400, sentTokens: 2000 })
    expect(inspection.sentTokens).toBe(inspection.slices.reduce((sum, one) => sum + one.sentTokens, 0))
  })

  it('takes what the file does not show from the first reported usage of each stretch', () => {
    const [before, after] = [1000 - 400 - 200 - 80, 900 - 400 - 200 - 7]
    expect(slice('unrecorded')).toMatchObject({ tokens: after, sentTokens: 4 * before + after })
    expect(inspection.growth.points.map(({ load }) => load)).toEqual(expect.arrayContaining([1000]))
  })

  it('splits the load of each call into what it is made of', () => {
    const { composition, growth } = inspection
    expect(growth.points.map((_, call) => composition.reduce((sum, { tokens }) => sum + tokens[call]!, 0))).toEqual(
      growth.points.map(({ load }) => load),
    )
    expect(composition.find(({ kind }) => kind === 'user')?.tokens).toEqual([80, 80, 80, 80, 7])
  })

  it('finds the peak in reported usage, or in the count where there is none', () => {
    expect(inspection.growth.peakCall).toBe(3)
    expect(inspection.growth.peak).toBe(inspection.growth.points[3]?.load)
  })

  it('names the largest items by tool and target', () => {
    expect(inspection.biggest[0]).toMatchObject({
      kind: 'result',
      tool: 'Read',
      target: '/a/b.ts',
      line: 3,
      timesSent: 3,
    })
  })

  it('counts as read again only what a newer read shows again, though its line numbers moved', () => {
    const [again] = inspection.readAgain
    const first = SAMPLE.messages[2]?.parts[0]?.text.length ?? 0
    expect(again).toMatchObject({ path: '/a/b.ts', reads: 2, tokens: Math.round(first / 2) })
    // The newer read was sent in one call; in that one the older copy was worth nothing.
    expect(again?.sentTokens).toBe(Math.round(first / 2))
  })

  it('adds up reported usage and says how many calls have none', () => {
    expect(inspection.usage).toMatchObject({ input: 3400, cacheRead: 1000 })
    expect(inspection.withoutUsage).toBe(2)
  })

  it('takes a recording without calls', () => {
    const empty = { ...SAMPLE, calls: [], messages: [], compactions: [] }
    expect(inspect(empty, { countText: byCharacter })).toMatchObject({ calls: 0, growth: { peak: 0, points: [] } })
  })
})

describe.each(recorded)('all shared transcripts', (folder) => {
  it('are inspected', async () => {
    for (const name of [
      'gemini-cli',
      'copilot-cli',
      'pi',
      'cline',
      'openhands',
      'swe-agent',
      'tau-bench',
      'openai-chat',
    ]) {
      for (const file of filesOf(folder, name)) {
        for (const recording of (await loadFile(file)).recordings) {
          const { sentTokens, slices } = inspect(recording, { countText })
          expect(sentTokens).toBeGreaterThan(0)
          expect(slices.every((one) => Number.isFinite(one.sentTokens))).toBe(true)
        }
      }
    }
  })

  // A loader that sent too much or too little would show here: Claude takes 2.5 to 3 characters per token on such work, GPT 3 to 4.5.
  it.each([
    ['claude-code', 0.98, 1.2],
    ['codex-rollout', 0.65, 1],
  ])('%s: the reported growth is that of the text that the loader sends', async (name, low, high) => {
    const ratios: number[] = []
    for (const file of filesOf(folder, name)) {
      for (const recording of (await loadFile(file)).recordings) {
        const { ratio } = inspect(recording, { countText }).growth
        if (ratio !== undefined) ratios.push(ratio)
      }
    }
    console.log(
      `${name}: reported ÷ counted growth at 3 characters per token: ${ratios.map((ratio) => ratio.toFixed(2)).join(' ')}`,
    )
    expect(ratios.length).toBeGreaterThanOrEqual(5)
    expect(Math.min(...ratios)).toBeGreaterThan(low)
    expect(Math.max(...ratios)).toBeLessThan(high)
  })
})

const countText = (text: string): number => text.length / 3

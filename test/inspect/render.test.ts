import { describe, expect, it } from 'vitest'

import { columnChart } from '../../src/cli/inspect/chart.ts'
import { short } from '../../src/cli/inspect/figures.ts'
import { inspectReport } from '../../src/cli/inspect/report.ts'
import { displayWidth, fitEnd, fitWidth, plainText } from '../../src/cli/inspect/width.ts'
import { loadFixture } from '../transcripts/fixtures.ts'
import { byCharacter, SAMPLE } from './sample.ts'

const ESCAPE = '\u001b'
const withNames = (path: string) => ({
  ...SAMPLE,
  messages: SAMPLE.messages.map((message) => ({
    ...message,
    parts: message.parts.map((part) =>
      part.kind === 'call' && part.toolName === 'Read'
        ? { ...part, toolName: `読む${ESCAPE}[31m`, input: { file_path: path } }
        : part,
    ),
  })),
})

describe('terminal report', () => {
  it.each([20, 33, 44, 60, 80, 100, 120, 300])('keeps every line within %d columns', (width) => {
    const sources = [
      SAMPLE,
      withNames('/家/設定/とても長いファイル名のついた設定ファイルその一🙂.yaml'),
      ...loadFixture('claude-code.jsonl').recordings,
      ...loadFixture('codex-rollout.jsonl').recordings,
    ]
    const report = inspectReport(sources, { countText: byCharacter, window: 200_000, width, details: true })
    expect(report).toContain('All sessions')
    for (const line of report.split('\n')) expect(displayWidth(line), line).toBeLessThanOrEqual(width)
  })

  it('has colours only when asked, and never those of the transcript', () => {
    const source = withNames(`/a${ESCAPE}]0;title/b.ts`)
    expect(inspectReport([source], { countText: byCharacter })).not.toContain(ESCAPE)
    const coloured = inspectReport([source], { countText: byCharacter, colour: true })
    expect(coloured).toContain(`${ESCAPE}[1m`)
    expect(coloured).not.toContain(`${ESCAPE}]`)
  })

  it('shows problems with their lines', () => {
    expect(inspectReport([SAMPLE], { countText: byCharacter })).toContain('line 4: The line is not JSON')
  })

  it('says so when no call is recorded', () => {
    const report = inspectReport([{ ...SAMPLE, calls: [], compactions: [] }], { countText: byCharacter })
    expect(report).toContain('No model call is recorded here.')
  })

  it('gives many sessions as one table, and adds them up', () => {
    const report = inspectReport([SAMPLE, SAMPLE, SAMPLE, SAMPLE], { countText: byCharacter })
    expect(report).toContain('4 sessions · 20 calls')
    expect(report).not.toContain('Load per call')
    expect(inspectReport([SAMPLE, SAMPLE], { countText: byCharacter })).toContain('Load per call')
  })

  it('asks for the window of each model', () => {
    const report = inspectReport([SAMPLE], {
      countText: byCharacter,
      window: (model) => (model === 'claude-sonnet-4-5' ? 4321 : undefined),
    })
    expect(report).toContain('of 4,321')
  })
})

describe('html report', () => {
  const html = inspectReport([withNames('/<script>alert(1)</script>.ts')], {
    countText: byCharacter,
    window: 3000,
    as: 'html',
  })

  it('needs nothing from outside and runs nothing', () => {
    expect(html).not.toMatch(/<script|<link|<img|src=|@import|url\(|https?:/)
    expect(html).toContain("default-src 'none'")
  })

  it('shows text of the transcript as text', () => {
    expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
    expect(html).toContain('&lt;b&gt;x&lt;/b&gt;')
  })

  it('draws the load with the window line and the compaction', () => {
    expect(html).toContain('class="area"')
    expect(html).toContain('window 3,000')
    expect(html).toContain('compaction before call 5')
  })

  it('says what it cost, as the other reports do', () => {
    const priced = {
      countText: byCharacter,
      price: () => ({ input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 }),
    }
    const [{ costUsd }] = JSON.parse(inspectReport([SAMPLE], { ...priced, as: 'json' })) as [{ costUsd: number }]
    const shown = `$${costUsd.toFixed(4)}`
    expect(costUsd).toBeGreaterThan(0)
    expect(inspectReport([SAMPLE], { ...priced, as: 'html' })).toContain(shown)
    expect(inspectReport([SAMPLE], priced)).toContain(shown)
    expect(html).not.toContain('$')
  })
})

describe('json report', () => {
  it('is one object per recording', () => {
    const parsed = JSON.parse(inspectReport([SAMPLE, SAMPLE], { countText: byCharacter, as: 'json' })) as {
      file: string
      calls: number
    }[]
    expect(parsed.map(({ file, calls }) => [file, calls])).toEqual([
      ['sessions/demo.jsonl', 5],
      ['sessions/demo.jsonl', 5],
    ])
  })
})

describe('columnChart', () => {
  it('stands at the height of its values, with the line where it belongs', () => {
    expect(columnChart([0, 50, 100], { width: 11, height: 4, line: 200, marks: [2] })).toEqual([
      '   200 ┼┄┄┄',
      '       │   ',
      '       │  █',
      '     0 │ ██',
      '       └──▲',
    ])
  })

  it('shows the highest of the values that share a column', () => {
    const values = Array.from({ length: 1000 }, (_, index) => (index === 500 ? 100 : 1))
    const rows = columnChart(values, { width: 28, height: 3 })
    expect(rows[0]?.match(/█/g)).toHaveLength(1)
  })

  it('does not press the columns flat under a window far above', () => {
    expect(columnChart([10, 20], { width: 10, height: 2, line: 1_000_000 }).join('')).not.toContain('┄')
  })
})

describe('width', () => {
  it.each([
    ['abc', 3],
    ['日本', 4],
    ['한글', 4],
    ['ｆｕｌｌ', 8],
    ['e\u0301', 1],
    ['👩‍👩‍👧', 2],
    ['❤️', 2],
    ['→', 1],
    ['\u200b', 0],
  ])('measures %j as %d', (text, width) => {
    expect(displayWidth(text)).toBe(width)
  })

  it('never cuts a wide character in half', () => {
    expect(fitWidth('日本語', 4)).toBe('日…')
    expect(fitEnd('日本語', 4)).toBe('…語')
    expect(fitWidth('ab', 2)).toBe('ab')
  })

  it('takes out escape sequences and direction marks', () => {
    expect(plainText(`a${ESCAPE}[31mb\u202ec\nd`)).toBe('ab c d')
  })
})

describe('short', () => {
  it.each([
    [0, '0'],
    [999, '999'],
    [1000, '1k'],
    [1234, '1.2k'],
    [99_960, '100k'],
    [999_600, '1M'],
    [12_345_678, '12.3M'],
    [5_000_000_000, '5G'],
  ])('writes %d as %s', (value, text) => {
    expect(short(value)).toBe(text)
  })
})

import { describe, expect, it } from 'vitest'

import { columnChart, displayWidth, fitEnd, fitWidth, plainText, short } from '../../src/cli/kit/figures.ts'
import { inspectAll, inspectReport, type InspectAllOptions } from '../../src/cli/reports/inspect.ts'
import { renderReport, type ReportLook } from '../../src/cli/reports/text.ts'
import { singlePage } from '../../src/dashboard/static-files.ts'
import type { InspectSource } from '../../src/lab/inspect/measures.ts'
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

const printed = (sources: readonly InspectSource[], options: InspectAllOptions & Partial<ReportLook>): string =>
  renderReport(inspectReport(inspectAll(sources, options), options.details ?? sources.length <= 3), {
    width: 80,
    colour: false,
    ...options,
  })

describe('terminal report', () => {
  it.each([20, 33, 44, 60, 80, 100, 120, 300])('keeps every line within %d columns', (width) => {
    const sources = [
      SAMPLE,
      withNames('/家/設定/とても長いファイル名のついた設定ファイルその一🙂.yaml'),
      ...loadFixture('claude-code.jsonl').recordings,
      ...loadFixture('codex-rollout.jsonl').recordings,
    ]
    const report = printed(sources, { countText: byCharacter, window: 200_000, width, details: true })
    expect(report).toContain('All sessions')
    for (const line of report.split('\n')) expect(displayWidth(line), line).toBeLessThanOrEqual(width)
  })

  it('has colours only when asked, and never those of the transcript', () => {
    const source = withNames(`/a${ESCAPE}]0;title/b.ts`)
    expect(printed([source], { countText: byCharacter })).not.toContain(ESCAPE)
    const coloured = printed([source], { countText: byCharacter, colour: true })
    expect(coloured).toContain(`${ESCAPE}[1m`)
    expect(coloured).not.toContain(`${ESCAPE}]`)
  })

  it('shows problems with their lines', () => {
    expect(printed([SAMPLE], { countText: byCharacter })).toContain('line 4: The line is not JSON')
  })

  it('says so when no call is recorded', () => {
    const report = printed([{ ...SAMPLE, calls: [], compactions: [] }], { countText: byCharacter })
    expect(report).toContain('No model call is recorded here.')
  })

  it('gives many sessions as one table, and adds them up', () => {
    const report = printed([SAMPLE, SAMPLE, SAMPLE, SAMPLE], { countText: byCharacter })
    expect(report).toContain('4 sessions · 20 calls')
    expect(report).not.toContain('Load per call')
    expect(printed([SAMPLE, SAMPLE], { countText: byCharacter })).toContain('Load per call')
  })

  it('asks for the window of each model', () => {
    const report = printed([SAMPLE], {
      countText: byCharacter,
      window: (model) => (model === 'claude-sonnet-4-5' ? 4321 : undefined),
    })
    expect(report).toContain('of 4,321')
  })
})

const PRICED = {
  countText: byCharacter,
  window: 3000,
  price: () => ({ input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 }),
}

describe('html report', () => {
  const hostile = inspectAll([withNames('/</script><script>alert(1)</script>.ts')], {
    countText: byCharacter,
    window: 3000,
  })
  const page = inspectReport(hostile)

  it('is one file that runs the page alone and asks for nothing', async () => {
    const html = await singlePage(page)
    expect(html).not.toMatch(/<link|<img|<script[^>]*src=|@import|url\(/)
    expect(html).toMatch(/default-src 'none'; script-src 'sha256-[^' ]+'; style-src 'sha256-[^' ]+'/)
    expect(html.match(/<script|<\/script/g)).toHaveLength(4)
    expect(html).toContain('\\u003c/script>\\u003cscript>alert(1)\\u003c/script>.ts')
  })

  it('draws the load with the window line and the compaction', () => {
    const load = page.sections[0]!.parts.find((part) => part.kind === 'load')
    expect(load).toMatchObject({ title: 'Load per call', line: { name: 'window', value: 3000 }, marks: [5] })
    expect(load!.label).toMatch(/peak [\d,]+ tokens at call \d; compaction before call 5$/)
  })

  it('says what it cost, as the other reports do', () => {
    const priced = inspectAll([SAMPLE], PRICED)
    const shown = `$${priced[0]!.costUsd!.toFixed(4)}`
    expect(priced[0]!.costUsd).toBeGreaterThan(0)
    expect(inspectReport(priced).sections[0]!.figures).toContainEqual(['cost at list prices', shown])
    expect(renderReport(inspectReport(priced), { width: 80, colour: false })).toContain(shown)
    expect(JSON.stringify(page)).not.toContain('$')
  })

  it('adds up many sessions, and names each', () => {
    const { title, sections } = inspectReport(inspectAll([SAMPLE, SAMPLE], PRICED))
    expect(title).toBe('Plimsoll inspect: 2 sessions')
    expect(sections.map((section) => section.title)).toEqual(['All sessions', SAMPLE.file, SAMPLE.file])
    expect(sections[0]!.parts.map((part) => part.title)).toEqual(['Where the tokens went', 'By session'])
    expect(sections[1]!.parts.map((part) => part.title)).toEqual(
      expect.arrayContaining(['What the prompts are made of', 'Where the tokens went', 'Largest items', 'Problems']),
    )
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

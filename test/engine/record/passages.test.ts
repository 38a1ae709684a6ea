import { describe, expect, it } from 'vitest'
import {
  chooseExcerpts,
  renderExcerpt,
  type ExcerptSource,
  passagesOf,
} from '../../../src/engine/epoch/record/excerpts.ts'

const FUNCTION = (name: string): string[] => [
  `export function ${name}(input: string): string {`,
  '  const lines = input.split("\\n")',
  '',
  '  return lines.filter((line) => line !== "").join("\\n")',
  '}',
  '',
]

const source = (lines: readonly string[], more: Partial<ExcerptSource> = {}): ExcerptSource => ({
  label: '« read a.ts',
  lines,
  weight: 1,
  age: 0,
  tokensPerCharacter: 0.25,
  isNoise: () => false,
  ...more,
})

describe('passages', () => {
  it('are whole small functions, blank lines inside included', () => {
    const lines = [...FUNCTION('first'), ...FUNCTION('second')]
    expect(passagesOf(lines)).toEqual([
      { from: 0, to: 6 },
      { from: 6, to: 12 },
    ])
  })

  it('cover every line once, in order, whatever the text', () => {
    for (const lines of [['x'], Array.from({ length: 100 }, (_, i) => `line ${i}`), ['', '', 'a', '', 'b'], ['']]) {
      const covered = passagesOf(lines).flatMap(({ from, to }) => Array.from({ length: to - from }, (_, i) => from + i))
      expect(covered).toEqual([...lines.keys()])
    }
  })
})

describe('excerpts', () => {
  it('show a function whole rather than the lines of it that cost least', () => {
    const lines = [...FUNCTION('first'), ...FUNCTION('second')]
    const [runs] = chooseExcerpts([source(lines)], 60, new Set())
    const text = renderExcerpt(source(lines), runs!)
    expect(text).toContain(FUNCTION('second').slice(0, 5).join('\n'))
  })

  it('never show one line where its neighbours would fit', () => {
    const old = Array.from({ length: 30 }, (_, i) => `const shared_value_${i} = compute(${i})`)
    const changed = old.with(15, 'const the_only_new_line = compute(15)')
    const chosen = chooseExcerpts([source(old), source(changed)], 10_000, new Set(old))
    for (const runs of chosen) for (const { from, to } of runs) expect(to - from).toBeGreaterThan(1)
  })

  it('leave out what a newer copy shows', () => {
    const lines = FUNCTION('same')
    const [older, newer] = chooseExcerpts([source(lines, { age: 9 }), source(lines)], 10_000, new Set())
    expect(older).toEqual([])
    expect(newer).toHaveLength(1)
  })

  it('say where a later edit changed what they show, and do not prefer it', () => {
    const lines = FUNCTION('edited')
    const isStale = (key: string): boolean => key.startsWith('return lines')
    const edited = source(lines, { isStale })
    const [runs] = chooseExcerpts([edited], 10_000, new Set())
    expect(renderExcerpt(edited, runs!).split('\n')[0]).toContain('edited since')
  })
})

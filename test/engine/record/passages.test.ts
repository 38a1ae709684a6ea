import { describe, expect, it } from 'vitest'
import { excerptsFrom, type ExcerptSource } from '../../../src/engine/epoch/record/excerpts.ts'

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

describe('excerpts', () => {
  it('show a function whole rather than the lines of it that cost least', () => {
    const { text } = excerptsFrom([source([...FUNCTION('first'), ...FUNCTION('second')])], 60)
    expect(text).toContain(FUNCTION('second').slice(0, 5).join('\n'))
    expect(text).toContain('of 12 lines)')
  })

  it('never show one line where its neighbours would fit', () => {
    const old = Array.from({ length: 30 }, (_, i) => `const shared_value_${i} = compute(${i})`)
    const changed = old.with(15, 'const the_only_old_line = compute(15)')
    const { text } = excerptsFrom([source(changed, { age: 9 }), source(old)], 10_000)
    expect(text).toContain('const the_only_old_line = compute(15)\nconst shared_value_16 = compute(16)')
  })

  it('leave out what a newer copy shows', () => {
    const { text } = excerptsFrom(
      [source(FUNCTION('same'), { age: 9, label: '« old' }), source(FUNCTION('same'))],
      10_000,
    )
    expect(text).not.toContain('« old')
    expect(text).toContain('« read a.ts (5 of 6 lines)\n')
  })

  it('show all of every text, in order, where there is room', () => {
    for (const lines of [['x'], Array.from({ length: 100 }, (_, i) => `line ${i}`), ['a', '', 'b', '', 'c']])
      expect(excerptsFrom([source(lines)], 10_000).text).toContain(`« read a.ts\n${lines.join('\n')}`)
  })
})

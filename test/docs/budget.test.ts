import { expect, it } from 'vitest'
import { PAGES } from './pages.ts'

/** Guides are what people write for users; the reference and the benchmarks are written by scripts; architecture and decisions are for those who change the code, and are not in the package. */
const guides = PAGES.filter(({ file }) =>
  /^docs\/(?!reference\/|decisions\/|benchmarks\.md|architecture\.md)/.test(file),
)
const decisions = PAGES.filter(({ file }) => file.startsWith('docs/decisions/'))
const wordsOf = ({ text }: { text: string }): number => text.split(/\s+/).filter((word) => word !== '').length

it('all guides together have at most 25,000 words', () => {
  expect(guides.length).toBeGreaterThan(20)
  expect(guides.reduce((sum, page) => sum + wordsOf(page), 0)).toBeLessThanOrEqual(25_000)
})

it.each(guides)('$file has at most 2,000 words', (page) => {
  expect(wordsOf(page)).toBeLessThanOrEqual(2_000)
})

it.each(decisions)('$file is about one screen', (page) => {
  expect(wordsOf(page)).toBeLessThanOrEqual(700)
})

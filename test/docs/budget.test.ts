import { expect, it } from 'vitest'
import { PAGES } from './pages.ts'

/** Guides are what a user reads; the reference is written from the code, and decisions are for those who change it. */
const guides = PAGES.filter(({ file }) => file.startsWith('docs/') && !/^docs\/(?:reference|decisions)\//.test(file))
const decisions = PAGES.filter(({ file }) => file.startsWith('docs/decisions/'))
const wordsOf = ({ text }: { text: string }): number => text.split(/\s+/).filter((word) => word !== '').length

it('all guides together have at most 28,500 words', () => {
  expect(guides.length).toBeGreaterThan(20)
  expect(guides.reduce((sum, page) => sum + wordsOf(page), 0)).toBeLessThanOrEqual(28_500)
})

it.each(guides)('$file has at most 2,500 words', (page) => {
  expect(wordsOf(page)).toBeLessThanOrEqual(2_500)
})

it.each(decisions)('$file is about one screen', (page) => {
  expect(wordsOf(page)).toBeLessThanOrEqual(700)
})

import { expect, it } from 'vitest'
import { stackedParts } from '../../src/dashboard/stacked-parts.ts'

const calls: { parts: Record<string, number> }[] = [
  { parts: { user: 10, model: 30, a: 1, b: 2 } },
  { parts: { user: 10, model: 50, b: 4, c: 3 } },
]

it('puts the largest part at the bottom and joins the small ones', () => {
  expect(stackedParts(calls, 3)).toEqual([
    { name: 'model', tops: [30, 50], last: 50 },
    { name: 'user', tops: [40, 60], last: 10 },
    { name: 'other', tops: [43, 67], last: 7 },
  ])
})

it('names every part where there are few', () => {
  const parts = stackedParts(calls, 8)
  expect(parts.map(({ name }) => name)).toEqual(['model', 'user', 'b', 'c', 'a'])
  expect(parts.at(-1)?.tops).toEqual([43, 67])
})

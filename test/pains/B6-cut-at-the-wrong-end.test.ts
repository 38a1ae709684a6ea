import { describe, expect, it } from 'vitest'
import { show } from '../../src/engine/intake/index.ts'

const HANDLE = `art_${'7'.repeat(26)}`
const countTokens = (text: string): number => Math.ceil(text.length / 4)
const shown = (text: string, budgetTokens = 600) => {
  const view = show(text, { budgetTokens, countTokens, handle: HANDLE })
  expect(countTokens(view.text)).toBeLessThanOrEqual(budgetTokens)
  expect(view.truncated).toBe(true)
  expect(view.text).toContain(HANDLE)
  return view
}

const ERROR = 'FATAL: could not bind berth B4: address in use'
const log = [
  ...Array.from(
    { length: 4_000 },
    (_, n) => `2026-11-14T08:15:${String(n % 60).padStart(2, '0')}Z INFO request ${n} served in ${n % 97} ms`,
  ),
  ERROR,
].join('\n')

describe('B6: a tool output that is cut', () => {
  it('keeps the last line of a log and says how much there was', () => {
    const { text } = shown(log)
    expect(text).toContain(ERROR)
    expect(text).toMatch(/4,001/)
  })

  it('keeps JSON records whole and counts them', () => {
    const records = Array.from({ length: 276 }, (_, id) => ({
      id,
      name: `berth ${id}`,
      draught: id / 10,
      note: 'x'.repeat(40),
    }))
    const { text } = shown(JSON.stringify(records))
    expect(text).toContain('276')
    // The view is JSON itself, and every record in it is one of the originals.
    const view = JSON.parse(text) as { first_items: object[]; last_items: object[] }
    const rows = [...view.first_items, ...view.last_items]
    expect(rows.length).toBeGreaterThan(4)
    for (const row of rows) expect(records).toContainEqual(row)
    expect(view.last_items.at(-1)).toEqual(records.at(-1))
  })

  it('keeps CSV rows whole under their header', () => {
    const rows = Array.from({ length: 2_000 }, (_, n) => `${n},berth ${n},${n / 8},"held, by crane ${n % 7}"`)
    const { text } = shown(['id,name,draught,note', ...rows].join('\n'))
    expect(text).toContain('id,name,draught,note')
    expect(text).toMatch(/2,000/)
    const kept = text.split('\n').filter((line) => /^\d+,berth/.test(line))
    expect(kept.length).toBeGreaterThan(2)
    for (const row of kept) expect(rows).toContain(row)
  })

  it('shows both ends of a single line of 200 kB', () => {
    const { text } = shown(`BEGIN-${'z'.repeat(200_000)}-END`)
    expect(text).toContain('BEGIN-')
    expect(text).toContain('-END')
    expect(text).toMatch(/200,010|200010/)
  })
})

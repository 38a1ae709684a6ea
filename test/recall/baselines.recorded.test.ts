import { describe, expect, it } from 'vitest'

import { byCharacters, loadSessions, measure } from '../../bench/baselines.ts'
import { MANAGERS } from '../../bench/simple-managers.ts'
import { sharedFolder } from '../support/shared-data.ts'

const managerOf = (name: string) =>
  MANAGERS.find((manager) => manager.name.startsWith(name)) as (typeof MANAGERS)[number]

/**
 * The yardstick must not move unseen: these figures agree with an independent measurement on the same sessions (2,869 calls, $108,
 * 2,121 and 2,603 calls over; first + last 0.934 for $53 and 0.831 for $33).
 */
describe('simple managers on the shared Claude Code sessions', async () => {
  const counting = byCharacters(2.29)
  const sessions = await loadSessions(sharedFolder('transcripts/claude-code'), counting, 'as-written')

  it('sending everything loses nothing, costs what it costs, and does not fit', () => {
    const wide = measure(managerOf('send everything'), 64_000, 0, sessions)
    const narrow = measure(managerOf('send everything'), 32_000, 0, sessions)
    expect(wide.recall).toMatchObject({ quoteRecall: 1, nameRecall: 1, recoverableRecall: 1 })
    expect(wide.costUsd).toBeCloseTo(107.9, 0)
    expect(wide.over).toBeGreaterThan(2100)
    expect(narrow.over).toBeGreaterThan(2570)
  })

  it.each([
    [64_000, 0.928, 51.8],
    [32_000, 0.836, 33.7],
  ])('first + last with hysteresis at %d', (window, quoteRecall, costUsd) => {
    const figures = measure(managerOf('first + last'), window, 0, sessions)
    expect(figures.recall.quoteRecall).toBeCloseTo(quoteRecall, 2)
    expect(Math.abs(figures.costUsd - costUsd)).toBeLessThan(0.5)
    expect(figures.taskKept).toBe(1)
  })
})

import { setImmediate } from 'node:timers'
import { expect, it } from 'vitest'
import { createPlimsoll } from '../../src/index.ts'

/*
 * The pattern is a model's, and others are served by the same process: however dear a pattern is, grep lets them pass every few
 * dozen milliseconds, and stops at its time limit.
 */
const TEXTS: Readonly<Record<string, string>> = {
  'one long line': `c${'a'.repeat(60_000)}`,
  'many lines': `c${'a'.repeat(400)}\n`.repeat(150),
  'words on one line': `c${'abcd '.repeat(12_000)}`,
}
const PATTERNS = [
  'a(.{0,200})c',
  '((a{17}){17})c',
  '(?i)(?:ab?c?d?){0,70}z',
  '[ab]*a[ab]{100}c',
  '(.*a){12}c',
  'a.{0,280}',
]

/** Longest time for which nothing else ran. */
async function longestHold(work: () => Promise<unknown>): Promise<number> {
  let isOver = false
  let longest = 0
  let last = performance.now()
  const tick = (): void => {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
    if (!isOver) setImmediate(tick)
  }
  setImmediate(tick)
  await work()
  isOver = true
  return Math.max(longest, performance.now() - last)
}

it.each(Object.keys(TEXTS))(
  'no pattern keeps the process to itself on %s',
  async (name) => {
    const plimsoll = createPlimsoll({ store: 'memory:', artifacts: 'memory:' })
    const { artifact } = await plimsoll
      .session({ id: 's' })
      .toolResult({ tool: 'bash', callId: 'c', output: TEXTS[name]! })
    for (const pattern of PATTERNS) {
      const held: number[] = []
      let whole = 0
      for (let i = 0; i < 2; i++) {
        const startedAt = performance.now()
        held.push(await longestHold(() => plimsoll.artifacts.grep(artifact!, { pattern })))
        whole = performance.now() - startedAt
      }
      // What is over soon need not be cut up.
      expect(Math.min(...held) / Math.max(whole, 2_000), pattern).toBeLessThan(0.15)
    }
    await plimsoll.close()
  },
  240_000,
)

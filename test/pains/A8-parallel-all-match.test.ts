import { describe, expect, it } from 'vitest'
import { cutsOf, turnsOf } from '../../src/core/turns.ts'
import { codecOf } from '../../src/formats/registry.ts'
import { resultText } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'
import { item } from '../support/items.ts'
import { plainBody } from './support/plain-bodies.ts'

const PARALLEL = 12

describe('A8: a batch of parallel calls', () => {
  it('is one atom at every cut, beside a stray result of a turn that was summarised away', () => {
    let id = 0
    let message = 0
    const next = (fields: Parameters<typeof item>[1]) => item(`i${id++}`, { message, ...fields })
    const user = next({ kind: 'user' })
    message++
    const stray = next({ kind: 'result', callId: 'old' })
    message++
    const calls = Array.from({ length: PARALLEL }, (_, n) => next({ kind: 'call', callId: `call_${n}` }))
    // Results in another order than the calls, each in a message of its own.
    const results = calls.toReversed().map((call) => {
      message++
      return next({ kind: 'result', callId: call.callId! })
    })
    message++
    const items = [user, stray, ...calls, ...results, next({ kind: 'assistant' })]
    const cuts = cutsOf(turnsOf(items))
    expect(cuts).toContain(items.length)
    for (const cut of cuts) {
      const kept = items.slice(cut)
      expect(kept[0]?.kind).not.toBe('result')
      const { pending, orphans } = turnsOf(kept)
      expect(pending).toEqual([])
      // The stray one can only stay with what stood before it.
      expect(orphans.map((index) => kept[index]!.id)).toEqual(cut === 0 ? [stray.id] : [])
    }
  })

  it('keeps the counts of Gemini calls and responses equal in every budget', async () => {
    const codec = codecOf('gemini')
    const batch = (n: number) => ({
      calls: Array.from({ length: PARALLEL }, (_, i) => ({ name: `t${i}`, result: resultText(n * 20 + i, 150) })),
    })
    const body = plainBody('gemini', [{ user: 'Go.', steps: [0, 1, 2, 3, 4, 5].map(batch) }])
    for (let window = 2_000; window <= 6_000; window += 200) {
      const turn = await testEngine()
        .session()
        .prepare({ format: 'gemini', body, targets: [{ model: 'gemini-2.5-pro', window }] })
      expect(codec.check(JSON.parse(turn.text))).toEqual([])
    }
  })
})

import { describe, expect, it } from 'vitest'
import { testEngine } from '../support/engine.ts'
import { occurrences, runLoop } from './support/loop.ts'

describe('B14: the carried block', () => {
  it('stays within its share over twenty compactions and never holds an earlier one', async () => {
    const { session, deps } = testEngine()
    const fold = deps.policy.cascade.find((step) => step.step === 'fold')!
    const share = 'summaryShare' in fold ? fold.summaryShare : Number.NaN
    let compactions = 0
    const agent = session()
    await runLoop(agent, {
      to: 330,
      window: 3_000,
      onTurn(turn) {
        if (turn.report.newEpoch === undefined) return
        compactions++
        const [summary] = turn.edits.flatMap((edit) => (edit.op === 'insert' ? [edit.text] : []))
        expect(Math.ceil(summary!.length / 4)).toBeLessThanOrEqual(share * turn.limit.tokens)
        expect(occurrences(turn.text, '[Condensed record of')).toBe(1)
      },
    })
    expect(compactions).toBeGreaterThanOrEqual(20)
  })
})

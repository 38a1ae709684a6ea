import { describe, expect, it } from 'vitest'
import type { Policy } from '../../src/core/policy.ts'
import { policyNamed } from '../../src/engine/presets/index.ts'
import { testEngine } from '../support/engine.ts'
import { occurrences, runLoop } from './support/loop.ts'

describe('B14: the carried block', () => {
  it('stays within its share over twenty compactions and never holds an earlier one', async () => {
    const share = 0.12
    const policy: Policy = {
      ...policyNamed('plimsoll'),
      cascade: [
        { step: 'fold', tailShare: 0.15, summaryShare: share },
        { step: 'squeeze', floorTokens: 120 },
      ],
    }
    const { session } = testEngine({ policy })
    let compactions = 0
    const agent = session()
    await runLoop(agent, {
      to: 360,
      resultLength: 900,
      window: 6_000,
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

import { describe, expect, it } from 'vitest'
import { resultText } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'

describe('A11: a call that nobody ever answered', () => {
  it('at the start of five hundred later events does not stop a reduction below the target', async () => {
    const input: object[] = [
      { role: 'user', content: 'Begin.' },
      { type: 'function_call', call_id: 'call_orphan', name: 'approve', arguments: '{}' },
    ]
    for (let n = 0; n < 250; n++) {
      input.push({ type: 'function_call', call_id: `call_${n}`, name: 'read', arguments: '{}' })
      input.push({ type: 'function_call_output', call_id: `call_${n}`, output: resultText(n, 200) })
    }
    const { session, deps, events } = testEngine()
    const turn = await session().prepare({
      format: 'openai-responses',
      body: { model: 'gpt-5.1', max_output_tokens: 256, input },
      targets: [{ model: 'gpt-5.1', window: 10_000 }],
    })
    expect(turn.report.loadBefore).toBeGreaterThan(turn.limit.tokens)
    expect(turn.load.count.high).toBeLessThanOrEqual(deps.policy.water.low * turn.limit.tokens)
    // It stands before the cut and does not hold it up: behind the record nothing is left but the newest pairs, whole.
    const covered = turn.report.newEpoch?.covered ?? 0
    expect(covered).toBeGreaterThan(400)
    expect((JSON.parse(turn.text) as { input: object[] }).input.slice(2)).toEqual(input.slice(covered))
    // The event names it, so that somebody can look after it.
    expect(events.filter(({ type }) => type === 'call-unanswered')).toMatchObject([
      { callId: 'call_orphan', tool: 'approve' },
    ])
  })
})

import { describe, expect, it } from 'vitest'
import { epochEditsOf, planOfEpoch } from '../../src/core/epochs.ts'
import { codecOf } from '../../src/formats/registry.ts'
import { testEngine } from '../support/engine.ts'

/** Versions up to 0.2.0 could take reasoning out of finished steps; such epochs stand in their stores. */
describe('an epoch that strips', () => {
  it('means the same after its way through a plan and back', async () => {
    const { deps } = testEngine()
    const messages = [1, 2, 3].flatMap((n) => [
      { role: 'user', content: `ask ${n}` },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: `thought ${n}`, signature: `s${n}` },
          { type: 'text', text: `answer ${n}` },
        ],
      },
    ])
    const text = JSON.stringify({ model: 'claude-opus-4-6', max_tokens: 10, messages })
    const { items } = codecOf('anthropic-messages').decode(text)
    const links = deps.memo.chain(items)
    const edits = [{ op: 'strip' as const, from: 1, to: 4, reason: 'old' }]
    const epoch = { id: 'e', count: links.length, edits }
    const plan = planOfEpoch(epoch, items, links)
    expect(plan.map((edit) => edit.op === 'drop' && items.find(({ id }) => id === edit.id)!.text)).toEqual([
      'thought 1',
      'thought 2',
    ])
    const back = epochEditsOf(plan, items, links)
    expect(planOfEpoch({ ...epoch, edits: back }, items, links)).toEqual(plan)
  })
})

import { describe, expect, it } from 'vitest'
import { anthropicMessages } from '../../src/formats/anthropic-messages/wire.ts'
import { toolLoop } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'
import { runLoop } from './support/loop.ts'

describe('B15: every message', () => {
  it('is either in the view or covered by the summary, exactly once, over ten compactions', async () => {
    const session = testEngine().session()
    await runLoop(session, { to: 6 })
    // Something that stays in the middle of what is folded.
    const pin = (await session.items()).find(({ kind, excerpt }) => kind === 'result' && excerpt.includes('value_3_'))!
    await session.pin(pin.identity)
    let compactions = 0
    await runLoop(session, {
      from: 7,
      to: 200,
      window: 3_500,
      onTurn(turn, steps) {
        if (turn.report.newEpoch === undefined) return
        compactions++
        const items = anthropicMessages.decode(JSON.stringify(toolLoop({ steps }))).items
        const dropped = turn.edits.filter((edit) => edit.op === 'drop').map((edit) => edit.id)
        const inserted = turn.edits.filter((edit) => edit.op === 'insert')
        expect(new Set(dropped).size).toBe(dropped.length)
        expect(inserted.map(({ reason }) => reason)).toEqual([`stands for ${dropped.length} folded items`])
        const live = items.filter((item) => !dropped.includes(item.id)).map((item) => item.text)
        const sent = anthropicMessages.decode(turn.text).items.map((item) => item.text)
        expect(sent.filter((text) => text !== inserted[0]!.text)).toEqual(live)
        expect(live).toContain(items.find((item) => item.text.includes('value_3_1 '))!.text)
      },
    })
    expect(compactions).toBeGreaterThanOrEqual(10)
  })
})

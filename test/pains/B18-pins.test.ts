import { describe, expect, it } from 'vitest'
import { resultText } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'
import { inJson, runLoop } from './support/loop.ts'

describe('B18: pins', () => {
  it('keep three items verbatim on every path: untouched, high water, forced, on demand, after undo', async () => {
    const { session, events } = testEngine()
    const agent = session()
    await runLoop(agent, { to: 8 })
    const items = await agent.items()
    const wanted = [
      items.find(({ excerpt }) => excerpt === 'Step 2.')!,
      items.find(({ kind, excerpt }) => kind === 'result' && excerpt.includes('value_4_'))!,
      items.find(({ kind, excerpt }) => kind === 'call' && excerpt.includes('file-6'))!,
    ]
    for (const { identity } of wanted) await agent.pin(identity)
    const expected = ['Step 2.', inJson(resultText(4, 400)), 'src/file-6.ts\\"'.slice(0, 13)]
    const check = (turn: { text: string }): void => {
      for (const text of expected) expect(turn.text).toContain(text)
      expect(turn.text).toContain('"tool_use_id":"toolu_4"')
      expect(turn.text).toContain('"id":"toolu_6"')
    }
    await runLoop(agent, { from: 9, to: 80, onTurn: check })
    await agent.compact()
    check(await runLoop(agent, { from: 81, to: 81 }))
    await agent.undo()
    check(await runLoop(agent, { from: 82, to: 82 }))
    check(await runLoop(agent, { from: 83, to: 83, window: 4_000 }))
    const forced = events.filter((event) => event.type === 'epoch-declared' && event.forced)
    expect(forced.length).toBeGreaterThan(0)
  })

  it('end in a typed error, not in a silent drop, when they alone do not fit', async () => {
    const agent = testEngine().session()
    const size = { resultLength: 300 }
    await runLoop(agent, { to: 40, window: 30_000, ...size })
    for (const { identity, kind } of await agent.items()) if (kind === 'call') await agent.pin(identity)
    const attempt = runLoop(agent, { from: 41, to: 41, window: 2_000, ...size })
    await expect(attempt).rejects.toMatchObject({ code: 'fixed-overhead', fields: { parts: expect.any(Array) } })
  })
})

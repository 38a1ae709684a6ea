import { describe, expect, it } from 'vitest'
import { handlesIn } from '../../src/core/handles.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { anthropicMessages } from '../../src/formats/anthropic-messages/wire.ts'
import { resultText, toolLoop, type LoopOptions } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'

const FORMAT = 'anthropic-messages'
const body = (options: LoopOptions): string => JSON.stringify(toolLoop(options))
const target = (window: number) => ({ targets: [{ model: 'claude-sonnet-4-5', window }] })

describe('prepare', () => {
  it('gives back the bytes that came in while everything fits', async () => {
    const session = testEngine().session()
    const text = JSON.stringify(toolLoop({ steps: 3 }), undefined, 2)
    const turn = await session.prepare({ format: FORMAT, body: text, ...target(8_000) })
    expect(turn.body).toBe(text)
    expect(turn.report.untouched).toBe(true)
    expect(turn.edits).toEqual([])
  })

  it('stays within the limit and valid over two hundred steps, and only grows between epochs', async () => {
    const { session, events } = testEngine()
    const agent = session()
    let previous: string[] = []
    let breaks = 0
    for (let steps = 1; steps <= 200; steps++) {
      const turn = await agent.prepare({ format: FORMAT, body: body({ steps, thinking: true }), ...target(8_000) })
      expect(turn.load.count.high).toBeLessThanOrEqual(turn.limit.tokens)
      const sent = JSON.parse(turn.text) as { messages: unknown[] }
      expect(anthropicMessages.check(sent)).toEqual([])
      const messages = sent.messages.map((message) => JSON.stringify(message))
      if (!previous.every((message, i) => messages[i] === message)) breaks++
      previous = messages
      expect(turn.text).toContain('Find the bug in the parser.')
      expect(turn.text).toContain(JSON.stringify(resultText(steps, 400)).slice(1, -1))
    }
    const epochs = events.filter((event) => event.type === 'epoch-declared')
    expect(epochs.length).toBeGreaterThan(2)
    expect(breaks).toBe(epochs.length)
  })

  it('prepares the same bytes in a process that knows nothing but the store', async () => {
    const sessions = memoryStore()
    const one = testEngine({ sessions }).session()
    for (let steps = 1; steps <= 60; steps++) {
      const turn = await one.prepare({ format: FORMAT, body: body({ steps }), ...target(8_000) })
      const fresh = await testEngine({ sessions })
        .session()
        .prepare({ format: FORMAT, body: body({ steps }), ...target(8_000) })
      expect(fresh.text === turn.text, `the bytes of step ${steps}`).toBe(true)
    }
  })

  it('goes back to what it sent when the client rewinds', async () => {
    const agent = testEngine().session()
    const sent = new Map<number, string>()
    for (let steps = 1; steps <= 90; steps++)
      sent.set(steps, (await agent.prepare({ format: FORMAT, body: body({ steps }), ...target(8_000) })).text)
    for (const steps of [85, 40, 10]) {
      const again = await agent.prepare({ format: FORMAT, body: body({ steps }), ...target(8_000) })
      expect(again.load.count.high).toBeLessThanOrEqual(again.limit.tokens)
      expect(again.text === sent.get(steps), `the bytes of step ${steps}`).toBe(true)
    }
  })

  it('shortens a result that is larger than the window once, and keeps its bytes', async () => {
    const { session, deps } = testEngine()
    const agent = session()
    const original = resultText(2, 60_000)
    const options: LoopOptions = { steps: 2, resultLength: (step) => (step === 2 ? 60_000 : 400) }
    const turn = await agent.prepare({ format: FORMAT, body: body(options), ...target(8_000) })
    expect(turn.report.newEpoch).toBeUndefined()
    const [handle] = handlesIn(turn.text)
    expect(Buffer.from((await deps.artifacts.read('local', handle!))!).toString()).toBe(original)
    const later = await agent.prepare({ format: FORMAT, body: body({ ...options, steps: 3 }), ...target(8_000) })
    expect(later.text.startsWith(turn.text.slice(0, turn.text.indexOf('toolu_2')))).toBe(true)
    expect(handlesIn(later.text)).toEqual([handle])
  })

  it('squeezes a pasted user message that does not fit alone', async () => {
    const { session, deps } = testEngine()
    const task = resultText(1, 80_000)
    const turn = await session().prepare({ format: FORMAT, body: body({ steps: 1, task }), ...target(8_000) })
    expect(turn.load.count.high).toBeLessThanOrEqual(turn.limit.tokens)
    const [handle] = handlesIn(turn.text)
    expect(Buffer.from((await deps.artifacts.read('local', handle!))!).toString()).toBe(task)
  })

  it('ends in a typed error that names the largest parts when the instructions alone are too large', async () => {
    const request = { ...toolLoop({ steps: 5 }), system: 'x'.repeat(60_000) }
    const attempt = testEngine()
      .session()
      .prepare({ format: FORMAT, body: request, ...target(8_000) })
    await expect(attempt).rejects.toMatchObject({
      code: 'fixed-overhead',
      fields: { limit: expect.any(Number), parts: [{ what: 'instructions' }, {}, {}, {}] },
    })
  })

  it('archives every item once, with the fragment as it came', async () => {
    const { session, deps } = testEngine()
    const agent = session()
    for (let steps = 1; steps <= 50; steps++)
      await agent.prepare({ format: FORMAT, body: body({ steps }), ...target(8_000) })
    const seen: string[] = []
    for await (const { record } of deps.sessions.read('local', 'test'))
      if (record.type === 'item-seen') seen.push(record.fragment)
    const blocks = toolLoop({ steps: 50 }).messages.flatMap((message) =>
      typeof message.content === 'string' ? [message.content] : (message.content as unknown[]),
    )
    expect(seen.sort()).toEqual(blocks.map((block) => JSON.stringify(block)).sort())
  })
})
